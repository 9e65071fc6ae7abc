"""Slips that names help to undo: cases, options, keys, words, functions."""

from __future__ import annotations

import pytest

from tests.harness.marks import rest_long
from tests.harness.undoing import assert_undone, table_of

pytestmark = pytest.mark.unit

PROGRAM = """
import torch
from functools import partial, reduce
from typing import NamedTuple
from masks import see_all, only_past

class Config(NamedTuple):
    heads: int
    causal: bool = False
    log_base: float = 1.0
    cap: float | None = None
    keys: int = -1

DEFAULTS = {"mask": "all", "theta": 10000.0}
BLOCKED = -float("inf")
LOG_BASE = 9.210340371976184
LAYERS = {"q": ("in", "qkv"), "o": ("out", "out")}

def hidden(kind, q, k):
    match kind, q.shape[-2]:
        case "causal", n:
            found = torch.ones(n, n).tril(-1) > 0
        case "full", _:
            found = None
        case allowed, _:
            found = ~allowed
    return found

def of_three(inputs):
    match inputs:
        case query, key, value:
            return query, key, value
        case single:
            return single

def chained(weights, x, options, see=see_all):
    steps = []
    for name in ("q", "k", "v"):
        steps.append(partial(projected, name=name, weight=weights[name]))
    steps.append(partial(shown, see=only_past))
    made = dict(DEFAULTS | options)
    return steps, x * options["theta"], hidden("causal", x, x), made["name"]

def projected(x, name, weight):
    return {"x": x @ weight, "name": name}

def shown(x, see):
    return see(x)

def many(scores, heads, tokens, width, n, alpha):
    first, last = n, n + tokens
    x = scores.view(-1, heads, tokens, width)
    wide = x.repeat(n, 1, 1)
    part = scores[..., first:last]
    other = wide[..., first:last, :]
    both = torch.baddbmm(x, wide, other, beta=1, alpha=alpha)
    grid = torch.meshgrid(part, part, indexing="ij")
    below = torch.less_equal(part, other)
    joined = torch.stack((x, wide), dim=1)
    log_scale = torch.tensor(float(n)).log()
    rate = alpha ** -(n / width)
    seen = visible(queries=(0, n), keys=(0, tokens))
    return both, grid, below, joined, log_scale, rate, seen

def visible(queries, keys):
    return torch.arange(*queries)[:, None] >= torch.arange(*keys)

def running(blocks, largest, training):
    rows = torch.arange(4).unsqueeze(-1)
    columns = torch.arange(4).unsqueeze(-2)
    total = 0
    for block in blocks:
        largest = torch.maximum(largest, block.max())
        total = total + block.exp()
    if training is False:
        return rows, columns
    return total

def gated(x, gate):
    return torch.tanh(x) * gate

def saved(model):
    return dict([*model.named_parameters(remove_duplicate=False), *model.named_buffers()])

class Pairs:
    def of(self, x, n, k):
        for part in (*x.split(n, dim=-1), *x.chunk(k, dim=-1)):
            yield x[..., 2 * k], x[..., 2 * k + 1], part
"""
SLIPS = {
    "cases of a match": [
        ("found = ~allowed", "found = allowed"),
    ],
    "words": [
        ('hidden("causal", x, x)', 'hidden("casual", x, x)'),
        ('options["theta"]', 'options["thetas"]'),
        ('"o": ("out", "out")', '"o": ("out", "qkv")'),
        ("training is False", 'training is "False"'),
    ],
    "what a call is given": [
        ("torch.tanh(x) * gate", "torch.tanh(x * gate)"),
    ],
    "keys and options": [
        ("DEFAULTS | options", "options | DEFAULTS"),
    ],
    "default values of fields": [
        ("causal: bool = False", "causal: bool = True"),
        ("keys: int = -1", "keys: int = 2"),
    ],
    "slices and shapes": [
        ("x.split(n, dim=-1)", "x.split(n)"),
        ("x.chunk(k, dim=-1)", "x.chunk(k)"),
        ("rows = torch.arange(4).unsqueeze(-1)", "rows = torch.arange(4)"),
    ],
    "functions in place of operators": [
        ("torch.less_equal(part", "torch.less(part"),
        ('BLOCKED = -float("inf")', "BLOCKED = 1e-9", "BLOCKED = -1000000000.0"),
    ],
}
TABLE = table_of(SLIPS)


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), rest_long(TABLE, 4, rows=True))
def test_a_slip_is_undone_by_matching_names(group, right, wrong, fixed):
    """The words in a program tell which case, option or function is meant."""
    assert_undone(PROGRAM, group, right, wrong, fixed)
