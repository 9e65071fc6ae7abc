"""Slips that lose a value: it is not appended, returned, counted, or taken as a whole."""

from __future__ import annotations

import pytest

from tests.harness.undoing import assert_undone, edits_of, table_of

pytestmark = pytest.mark.unit

PROGRAM = """
import torch

def encoded(length, width):
    columns = []
    for place in range(width // 2):
        angle = torch.arange(length) / 100 ** (place / width)
        columns.append(torch.sin(angle))
        columns.append(torch.cos(angle))
    rows = []
    for row in range(length):
        rows.append([column[row] for column in columns])
    return torch.stack(columns, dim=-1), rows

def turned(a, b, angle):
    new_a = a * torch.cos(angle) - b * torch.sin(angle)
    new_b = a * torch.sin(angle) + b * torch.cos(angle)
    return new_a, new_b

def dropped(weights, share, training):
    if training is False:
        return weights
    drawn = torch.rand_like(weights)
    weights = torch.where(drawn > share, weights, 0)
    return weights

def size(block):
    return sum(one.numel() for one in block.parameters())

def paired(x):
    first = x[..., 0::2]
    second = x[..., 1::2]
    stacked = torch.stack((-second, first), dim=-1)
    result = torch.flatten(stacked, -2)
    return result
"""
SLIPS = {
    "a wrong or missing append": [
        ("rows.append([", "rows.extend(["),
    ],
    "pairs that stay apart": [
        ("torch.flatten(stacked, -2)", "stacked", "stacked.flatten(-2)"),
    ],
}
TABLE = table_of(SLIPS)


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), TABLE)
def test_a_slip_that_loses_a_value_is_undone(group, right, wrong, fixed):
    """Beginners often write loops that collect values and branches that return early."""
    assert_undone(PROGRAM, group, right, wrong, fixed)


def test_a_power_that_an_edit_adds_is_told_as_a_power_or_a_root():
    """A student who divides by a variance has neither a factor nor a term to check."""
    source = "def f(x, a_t):\n    return x / a_t\n"
    subjects = {edit.applied(source): edit.subject for edit in edits_of(source)}
    assert subjects[source.replace("/ a_t", "/ (a_t ** 0.5)")] == "a power or a root"
    assert subjects[source.replace("/ a_t", "/ (1 - a_t)")] == "a factor or a term"
