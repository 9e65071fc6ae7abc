"""Slips that leave out a part, use another variable of a similar name, or count something else."""

from __future__ import annotations

import ast

import pytest

from benchmarks.slips_archive import styles, submission
from tests.harness.marks import rest_long, rest_slow
from tests.harness.undoing import assert_undone, edits_of, table_of

pytestmark = pytest.mark.unit

LEFT_OUT = """
import copy
import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn

KEYS = ("q", "k", "v", "o")

def weights_of(scores):
    return torch.softmax(scores, dim=-1)

def scaled(q, k):
    return (q @ k.mT) / math.sqrt(k.shape[-1])

def attend(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return weights_of(scores) @ v

def attend_turned(q, k, v, turn):
    turned_q, turned_k = turn(q), turn(k)
    return attend(turned_q, turned_k, v)

def causal_mask(n):
    return torch.triu(torch.ones(n, n), 1) == 0

def masked_by_sum(scores, mask):
    return scores + (~mask) * -1e9

def chosen(weights, mask, given):
    if given is not None:
        return torch.where(mask, weights, torch.zeros_like(weights))
    return weights

def frequencies(width, base=10000.0):
    count = torch.arange(0, width, 2)
    return base ** (-1 * count / width)

def divided(width):
    return torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))

def dropped(weights, p, training):
    keep = torch.rand_like(weights) > p
    return weights * keep / (1 - p)

def merged(x):
    return x.transpose(-3, -2).flatten(-2)

def split(x):
    return x.transpose(1, 2)

def halves(even, odd):
    return torch.stack((even, odd), dim=-1).flatten(-2)

def like(x, turned):
    return turned.to(x.dtype)

def gathered(x, layers):
    found = []
    for layer in layers:
        found.append(layer(x))
    return torch.cat(found, dim=-1)

def counted(layers):
    return sum(p.numel() for p in layers.parameters())

def of_shapes(shape):
    return torch.Size(shape).numel()

def layers_of(count, width):
    return nn.ModuleList([nn.Linear(width, width) for _ in range(count)])

def same_layers(layer, count):
    return nn.ModuleList([copy.deepcopy(layer) for _ in range(count)])

def fused(q, k, v, d):
    weight = torch.empty(3 * d, d)
    weight[:d] = q
    weight[d : 2 * d] = k
    weight[2 * d :] = v
    return weight

def axes(x):
    swapped = x.permute(2, 0, 1)
    return swapped

def ready(x, flag):
    kept = x
    total = kept + 1
    if flag is not None:
        total = total * 2
    return total

class Projections(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)

    def load(self, w_query, w_key):
        self.query.weight.data.copy_(w_query)
        self.key.weight.data.copy_(w_key)

    def forward(self, x):
        q, k = self.query(x), self.key(x)
        return q @ k.mT

class Sides(nn.Module):
    def __init__(self, width, bias, **options):
        super().__init__()
        self.left = nn.Linear(width, width, bias=bias, **options)
        self.right = nn.Linear(width, width, bias=bias, **options)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(self.left(x) + self.right(x))

def stable(x, dim):
    shifted = x - x.amax(dim, keepdim=True)
    powers = shifted.exp()
    return powers / powers.sum(dim, keepdim=True)

def in_turns(x, heads, size):
    found = []
    for head in range(heads):
        start = head * size
        end = start + size
        found.append(x[..., start:end])
    return found

def rotated(x, angle):
    c = torch.cos(angle)
    s = torch.sin(angle)
    out = torch.zeros_like(x)
    for i in range(x.shape[-1] // 2):
        one = x[..., 2 * i]
        two = x[..., 2 * i + 1]
        out[..., 2 * i] = one * c - two * s
        out[..., 2 * i + 1] = one * s + two * c
    return out

def table_of(rows, width):
    table = torch.zeros(rows, width)
    for row in range(rows):
        for column in range(0, width, 2):
            angle = row / (100.0 ** (column / width))
            table[row, column] = math.sin(angle)
            table[row, column + 1] = math.cos(angle)
    return table

def grown(d_in, d_out, bias):
    total = d_in * d_out
    total = total + d_in * d_out
    return total + 3 * d_out * bias

def expanded(ids, n):
    if ids is not None:
        ids = ids.expand(2, n)
    return ids

def turned_back(x, turn, wq):
    kwargs = dict(ids=wq)
    return expanded(n=2, **kwargs)

def two_results(one, other):
    first, second = one + 1, other + 1
    return torch.stack((first, second))

def lengths(q, k, causal):
    n, m = q.shape[-2], k.shape[-2]
    return torch.ones(n, m).tril() if causal and n == m else None

def mapped(x):
    return torch.vmap(stable, in_dims=(0, None), out_dims=-2)(x, -1)

def set_weights(layer, weight, state):
    layer.out.weight = nn.Parameter(weight)
    return layer(weight)

def loaded_from(weight, x):
    layer = nn.Linear(2, 2)
    state = {"weight": weight}
    layer.load_state_dict(state); return layer(x)

def number_of(layers):
    return sum(p.numel() for p in layers if p.requires_grad)

def run_products(width, w_query, w_key, x):
    layer = Projections(width); layer.load(w_query, w_key)
    return layer(x)
"""

SLIPS = {
    "a layer that nothing calls": [
        ("return self.out(self.left(x) + self.right(x))", "return self.left(x) + self.right(x)"),
    ],
    "a factor that is missing": [
        ("return weights_of(scores) @ v", "return weights_of(scores)"),
    ],
    "a scale of what is returned": [
        ("(q @ k.mT) / math.sqrt(k.shape[-1])", "(q @ k.mT)", "(q @ k.mT) / k.shape[-1] ** 0.5"),
    ],
    "how far an exponent reaches": [
        ("base ** (-1 * count / width)", "base ** -1 * count / width"),
    ],
    "the variables of two loops": [
        ("row / (100.0 ** (column / width))", "column / (100.0 ** (row / width))"),
    ],
    "a layer that is not called": [
        ("self.out(self.left(x) + self.right(x))", "self.left(self.left(x) + self.right(x))"),
    ],
    "two numbers": [
        ("x.permute(2, 0, 1)", "x.permute(1, 0, 2)"),
    ],
}

# Code that once stopped the search for edits: numbers and names inside an f-string have no position
# of their own. An index or a key may also be empty.
ODD = [
    'name = f"{1} of {-1}"',
    "name = f\"{first} of {second:{width}} {f(f'{inner!r}')}\"",
    'return f"{q @ k} {-1}"',
    "whole = x[()]",
    "table[()] = x[()]",
    "first, *rest = (*q, *k)",
    "x = (y := q) @ (lambda q, *k: q @ k[0])(*q, **k)",
    "del q[...], k",
    "assert q, f'{k}'",
    "return not q or (yield k)",
]


@pytest.mark.parametrize(
    ("group", "right", "wrong", "fixed"), rest_long(table_of(SLIPS), 4, rows=True)
)
def test_code_that_was_left_out_or_confused_is_restored(group, right, wrong, fixed):
    """The right program is among the edits of the wrong one."""
    assert_undone(LEFT_OUT, group, right, wrong, fixed)


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("style", rest_slow(styles(), {"method_chains"}))
def test_programs_of_every_style_have_edits(style):
    """One line in an unforeseen style must not leave a submission without an explanation."""
    for path, text in submission(style).items():
        assert not path.endswith(".py") or path.endswith("__init__.py") or edits_of(text)


@pytest.mark.parametrize("statement", ODD)
def test_edits_beside_any_python_statement_parse(statement):
    """One strange line must not prevent the edits of other lines."""
    source = f"def run(q, k, first, second):\n    {statement}\n    return q @ k / 2\n"
    edits = edits_of(source)
    assert any(edit.line == 3 for edit in edits)
    for edit in edits:
        ast.parse(edit.applied(source))
