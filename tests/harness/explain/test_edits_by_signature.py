"""Slips in the order of steps, in the function that is called, and in the name that is read."""

from __future__ import annotations

import time

import pytest

from tests.harness.undoing import assert_undone, edits_of, table_of

pytestmark = pytest.mark.unit

ASKED = """
import math
import torch
from enum import Enum
from torch import nn

class Policy(Enum):
    FULL = "full"
    CAUSAL = "causal"

class Mask:
    pass

class Open(Mask):
    pass

class Causal(Mask):
    pass

MASKS = {Policy.FULL: Open, Policy.CAUSAL: Causal}

def chosen(policy: Policy = Policy.FULL):
    return MASKS[policy]

class Layout:
    def __init__(self, heads, width):
        self.heads, self.width = heads, width

class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.width, self.size = config.heads, config.width, config.size
        self.layout = Layout(config.heads, config.width)
        self.register_buffer("allowed", torch.ones(4, 4).tril().bool())
        self.key = nn.Linear(4, 4)
        self.value = nn.Linear(4, 4)

    def alone(self, query):
        return query * 2

    def forward(self, query, key, value):
        return query @ key.mT @ value

    def drop(self, weights, keep_probability):
        if not self.training:
            return weights
        kept = weights * (torch.rand_like(weights) < keep_probability)
        return kept / keep_probability

def attend(layer, query, key, value):
    return layer(query, key, value)

def crossed(layer, query, key, value):
    return layer.forward(query, key, value)

def with_policy(policy):
    return chosen(policy)

def weights_of(scores, mask):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

def masked(scores, mask):
    hidden = torch.where(mask, scores, float("-inf"))
    return torch.softmax(hidden, dim=-1)

def placed(x, token_positions=None):
    at = token_positions
    if at is None:
        at = torch.arange(x.shape[-2])
    return table(8, 10000.0)[at]

def table(width, base):
    rates = base ** -torch.linspace(0, 1, width // 2 + 1)[:-1]
    return torch.outer(torch.arange(8), rates)

def scaled(width, heads):
    return 1 / math.sqrt(width // heads)

def by_root(scores, d_k):
    return tempered(scores, d_k ** 0.5)

def tempered(scores, beta):
    def applied(x):
        return x * beta
    return applied(scores)

def of_last(x):
    d = x.shape[-1]
    return x / d

def largest(x, n):
    return x.sort(dim=-1, descending=True).values[..., :n]

def evaluated(layer, x):
    layer.eval()
    return layer(x)
"""
SLIPS = {
    "a parameter where one of a class's own is written": [
        ("return chosen(policy)", "return chosen(Policy.CAUSAL)"),
    ],
    "a default of a class's own": [
        ("policy: Policy = Policy.FULL", "policy: Policy = Policy.CAUSAL"),
    ],
    "a variable of the enclosing function": [
        ("return x * beta", "return x"),
    ],
    "from the other end": [
        ("[:-1]", "[1:]"),
    ],
    "a missing division or root": [
        ("math.sqrt(width // heads)", "math.sqrt(width)"),
        ("tempered(scores, d_k ** 0.5)", "tempered(scores, d_k)"),
    ],
    "a missing option that turns the order around": [
        ("dim=-1, descending=True", "dim=-1"),
    ],
    "a missing division by the kept share": [
        ("return kept / keep_probability", "return kept"),
    ],
}


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), table_of(SLIPS))
def test_a_slip_in_order_defaults_or_names_is_undone(group, right, wrong, fixed):
    """The right program, or an equivalent one, is among the edits of the wrong one."""
    assert_undone(ASKED, group, right, wrong, fixed)


def test_statements_outside_of_all_functions_have_edits():
    """Many files have `if __name__ == ...`, which must not prevent the edits of other lines."""
    program = 'def f(x):\n    return x + 1\n\nif __name__ == "__main__":\n    print(f(1))\n'
    assert {edit.line for edit in edits_of(program)} >= {2, 4}


@pytest.mark.parametrize(
    "line",
    [
        'return f"{super().extra_repr()}, by {self.by}"',
        "match self.by:\n            case by if super().holds(by):\n                return by",
        "try:\n            pass\n        except super().kind(self.by):\n            return 0",
    ],
)
def test_a_call_of_super_within_a_text_or_a_pattern_keeps_no_edit_away(line):
    """Modules describe themselves so; rules look up what each call passes to which parameter."""
    program = (
        "class Layer(Module):\n    def forward(self, x):\n        return self.scaled(x)\n\n"
        "    def scaled(self, x, by=1):\n        return x * by\n\n"
        f"    def extra_repr(self):\n        {line}\n"
    )
    assert {edit.line for edit in edits_of(program)} >= {3, 6}


@pytest.mark.process(takes="a second")
def test_a_class_of_many_attributes_does_not_multiply_the_search_for_edits():
    """The text is searched once for each attribute, not once for each value beside it."""
    program = "class Model(Module):\n" + "".join(
        f"    def part_{number}(self, x, y=None):\n"
        f"        self.kept_{number} = self.part_{number // 2}(x, y=self.kept_{number // 3})\n"
        f"        return self.kept_{number} @ x\n"
        for number in range(160)
    )
    began = time.process_time()
    assert len(edits_of(program)) > 10_000
    assert time.process_time() - began < 15


@pytest.mark.process(takes="seconds")
def test_the_time_for_a_function_of_many_statements_grows_with_their_number():
    """Which parameters it never reads is found once, and not for each statement."""
    program = "def f(x_q, x_k, x):\n" + "".join(f"    x.a{one} = {one}\n" for one in range(4000))
    began = time.process_time()
    edits_of(program)
    assert time.process_time() - began < 10
