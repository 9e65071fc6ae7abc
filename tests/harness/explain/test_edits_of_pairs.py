"""Slips in pairs that edits undo: features, indices, variables, consecutive statements."""

from __future__ import annotations

import pytest

from tests.harness.undoing import assert_undone, edits_of, table_of

pytestmark = pytest.mark.unit

ROTATION = """
import torch

def compare(state):
    return state

def cool(state):
    return state

def hide(state):
    return state

def share(state):
    return state

STEPS = (compare, cool, hide, share)

def turned(x, tables):
    s, c = (one.to(x) for one in tables)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), dim=-1).flatten(-2)

def by_pairs(pairs, cos, sin):
    return pairs * cos + pairs.flip(-1) * sin

def picked(x, evens):
    even = torch.index_select(x, -1, evens)
    odd = torch.index_select(x, -1, evens + 1)
    return even, odd

def members(x, count):
    for k in range(count):
        yield x[..., 2 * k], x[..., 2 * k + 1]

def features(width):
    even = torch.arange(0, width, 2)
    odd = even + 1
    return even, odd

def is_first(width):
    return torch.arange(width) % 2 == 0

def partner(x):
    out = torch.empty_like(x)
    out[..., ::2] = -x[..., 1::2]
    out[..., 1::2] = x[..., ::2]
    return out

def shares(x):
    e = x.exp()
    total = e.sum(-1, keepdim=True)
    return e / total

def placed(q, k, positions):
    q = turned(q, positions)
    k = turned(k, positions)
    return q, k
"""
HEADS = """
import torch

def scores(queries, keys):
    return [queries[h] @ keys[h].mT for h in range(len(queries))]
"""
SLIPS: dict[str, list[tuple[str, ...]]] = {
    "variables that are unpacked together": [
        ("a * s + b * c)", "a * s + b * s)"),
        ("(a * c - b * s", "(a * c - a * s"),
    ],
    "an earlier stage of a value": [("return e / total", "return x / total")],
    "a step of one of two": [
        (
            "    q = turned(q, positions)\n    k = turned(k, positions)\n",
            "    k = turned(k, positions)\n",
            "    q = turned(q, positions); k = turned(k, positions)\n",
        )
    ],
}


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), table_of(SLIPS))
def test_a_slip_in_a_pair_is_undone(group, right, wrong, fixed):
    """A rotation works on pairs, and one half of a pair is easily used for the other."""
    assert_undone(ROTATION, group, right, wrong, fixed)


@pytest.mark.parametrize(
    ("group", "right", "wrong", "fixed"),
    table_of(
        {
            "one constant twice": [("queries[h] @ keys[h]", "queries[0] @ keys[0]")],
        }
    ),
)
def test_a_slip_in_two_places_is_undone(group, right, wrong, fixed):
    """A hard-coded index is easily copied."""
    assert_undone(HEADS, group, right, wrong, fixed)


def test_an_argument_missing_from_a_multiline_call_has_one_line():
    """With one argument per line, no argument's line is wrong; the call's line is."""
    given = "def of(x, theta):\n    return x\n\ndef run(x, theta):\n    return of(\n{})\n"
    long, short = given.format("        x,\n    "), given.format("        x")
    lines = {
        edit.line
        for text in (long, short)
        for edit in edits_of(text)
        if edit.kind == "argument-added"
    }
    assert lines == {6}
    two = given.replace("of(x, theta)", "of(x, y, theta)").format("        x,\n        x,\n    ")
    added = [edit.line for edit in edits_of(two) if edit.kind == "argument-added"]
    assert set(added) == {5}
