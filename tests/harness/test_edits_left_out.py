"""Slips of who leaves out a part, takes one that is called alike, or counts something else."""

from __future__ import annotations

import ast

import pytest

from grader.edits.generating import edits_of
from tests.harness.undoing import assert_undone, table_of

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

def run_products(width, w_query, w_key, x):
    layer = Projections(width); layer.load(w_query, w_key)
    return layer(x)
"""

SLIPS = {
    "a method that is not called": [
        ("layer = Projections(width); layer.load(w_query, w_key)", "layer = Projections(width)"),
    ],
    "variables of which others are made": [
        ("attend(turned_q, turned_k, v)", "attend(q, k, v)"),
    ],
    "a factor that is missing": [
        ("return weights_of(scores) @ v", "return weights_of(scores)"),
    ],
    "a scale of what is returned": [
        ("(q @ k.mT) / math.sqrt(k.shape[-1])", "(q @ k.mT)", "(q @ k.mT) / k.shape[-1] ** 0.5"),
    ],
    "which factor is transposed": [
        ("(q @ k.mT)", "(q.mT @ k)"),
    ],
    "a comparison with a flag that is none": [
        ("if flag is not None:", "if flag is True:"),
    ],
    "random numbers without a rate": [
        (
            "torch.rand_like(weights) > p",
            "torch.rand_like(weights)",
            "(torch.rand_like(weights) > p)",
        ),
    ],
    "how low it is what is hidden": [
        ("(~mask) * -1e9", "(~mask) * -1", "(~mask) * -1e9"),
    ],
    "the other triangle": [
        ("torch.triu(torch.ones(n, n), 1) == 0", "torch.tril(torch.ones(n, n)) == 0"),
    ],
    "how far an exponent reaches": [
        ("base ** (-1 * count / width)", "base ** -1 * count / width"),
    ],
    "a logarithm that is not divided": [
        ("(-math.log(10000.0) / width)", "-math.log(10000.0)", "((-math.log(10000.0)) / width)"),
    ],
    "axes made one": [
        ("flatten(-2)", "flatten(-3, -2)"),
    ],
    "axes that a reshape mixes": [
        (
            "x.transpose(1, 2)",
            "x.reshape(x.shape[0], x.shape[2], x.shape[1], x.shape[3])",
        ),
    ],
    "halves put one after the other": [
        ("torch.stack((even, odd), dim=-1).flatten(-2)", "torch.cat((even, odd))"),
    ],
    "whose type a result takes": [
        ("turned.to(x.dtype)", "x.to(turned.dtype)"),
    ],
    "one of several results": [
        ("torch.cat(found, dim=-1)", "found[-1]"),
    ],
    "what is counted": [
        ("p.numel() for p", "p.shape[0] for p"),
        ("torch.Size(shape).numel()", "sum(shape)"),
    ],
    "one object in several places": [
        ("[nn.Linear(width, width) for _ in range(count)]", "[nn.Linear(width, width)] * count"),
        ("[copy.deepcopy(layer) for _ in range(count)]", "[layer for _ in range(count)]"),
    ],
    "which block is written": [
        ("weight[d : 2 * d] = k", "weight[:d] = k"),
        ("weight[2 * d :] = v", "weight[d :] = v"),
    ],
    "two numbers": [
        ("x.permute(2, 0, 1)", "x.permute(1, 0, 2)"),
    ],
    "two targets": [
        ("    kept = x\n    total = kept + 1", "    kept = x\n    kept = total = kept + 1"),
    ],
    "words that are missing": [
        ('("q", "k", "v", "o")', '("q", "k", "v")', '("q", "k", "v", "o")'),
    ],
}

# What once stopped the search for edits: the numbers and names inside an f-string have no place of
# their own, an index may be empty, and so may the key of a table.
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


@pytest.mark.parametrize(("group", "right", "wrong", "mended"), table_of(SLIPS))
def test_what_was_left_out_or_taken_for_another_is_undone(group, right, wrong, mended):
    """The right program is among the edits of the wrong one."""
    assert_undone(LEFT_OUT, group, right, wrong, mended)


@pytest.mark.parametrize("statement", ODD)
def test_whatever_python_allows_has_edits_that_parse(statement):
    """Nobody foresaw what a student wrote: one strange line must not cost the others theirs."""
    source = f"def run(q, k, first, second):\n    {statement}\n    return q @ k / 2\n"
    edits = edits_of(source)
    assert any(edit.line == 3 for edit in edits)
    for edit in edits:
        ast.parse(edit.applied(source))
