"""Slips that neighbouring code helps to undo: a similar line, the block around."""

from __future__ import annotations

import pytest

from tests.harness.undoing import assert_undone, table_of

pytestmark = pytest.mark.unit

BESIDE = """
import math
import torch
from torch import Tensor, nn

BASE = 10000.0

class Settings:
    width: int = 8
    rate_theta: float = 100.0

def frequencies(width, size, theta=BASE):
    return 1.0 / (theta ** (torch.arange(0, width, 2) / width))

def similar(q, k):
    return q @ k.transpose(-1, -2)

def scaled(q, k):
    scale: float = 1.0 / math.sqrt(q.shape[-1])
    return similar(q, k) * scale

def rotate(x, at, cosines, sines):
    cos = cosines[at]
    sin = sines[at]
    xr, xi = x[..., ::2], x[..., 1::2]
    yr = xr * cos - xi * sin
    yi = xr * sin + xi * cos
    return yr, yi

def rotated(even, odd, cos, sin):
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)

def in_place(y, a, b, c, s):
    y[..., 0] = a * c - b * s
    y[..., 1] = b * c + a * s
    return y

def attend(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ v

def is_allowed(rows, cols, causal):
    return (cols <= rows) | (not causal)

def triangle(n, m, causal):
    allowed = torch.ones(n, m).tril() == 1 if causal else None
    return allowed

def kept(survives, weights, p):
    return torch.where(survives, weights / (1 - p), torch.zeros_like(weights))

def total(q):
    scores = torch.zeros(1)
    found = 0
    for feature in range(q.shape[-1]):
        part = q[..., feature]
        found = found + part
    return found + scores

def counted(n, m, bias):
    count = n * m
    if bias:
        count += m
    return count

def made(settings):
    layer = nn.Linear(settings.width, 3 * settings.width)
    return layer, frequencies(settings.width, 3, theta=settings.rate_theta)

def loaded(layer, wq, wk, wv, width):
    layer.weight[:width].copy_(wq)
    layer.weight[width : 2 * width].copy_(wk)
    layer.weight[2 * width :].copy_(wv)
    return layer

def loaded_all(layers, W_query, W_key):
    for layer, W in ((layers[0], W_query), (layers[1], W_key)):
        layer.weight.data = W.T

def flat(x):
    return x.reshape(-1, *x.shape[-2:])

def without_a_mask(q, k, v, causal):
    mask = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).tril() if causal else None
    return attend(q, k, v, mask)

def split_and_turned(x, heads, turn):
    q: Tensor = x.split(heads)
    k: Tensor = x.split(heads)
    if turn is not None:
        q, k = turn(q), turn(k)
    return [q + k for q, k in zip(q, k, strict=True)]

def joined(parts):
    return torch.cat(parts, dim=-1)

def projected(x, weights):
    results = []
    for weight in weights:
        results.append(x @ weight)
    return results

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W_q = nn.Linear(width, width, bias=False)
        self.W_o = nn.Linear(width, width, bias=False)

    def split(self, x):
        return x.unflatten(-1, (2, -1)).transpose(-2, -3)

    def forward(self, q, k, v, training):
        q = self.split(self.W_q(q))
        k, v = self.split(k), self.split(v)
        result = attend(q, k, v)
        self.drop.train(training)
        return result
"""

SLIPS = {
    "a call that a neighbour has": [
        ("self.split(k), self.split(v)", "self.split(k), v"),
    ],
    "names of two letters": [
        ("    yi = xr * sin", "    yi = yr * sin"),
    ],
    "an annotated variable that is not used": [
        ("similar(q, k) * scale", "similar(q, k)"),
    ],
    "conditions among masks": [
        ("torch.ones(n, m).tril() == 1", "torch.ones(n, m) == 1"),
    ],
    "how masks are applied": [
        (
            "scores = scores.masked_fill(~mask, -math.inf)",
            "scores = scores * mask",
            'scores = scores.masked_fill(mask == 0, float("-inf"))',
        ),
    ],
    "how far an exponent reaches": [
        (
            "1.0 / (theta ** (torch.arange(0, width, 2) / width))",
            "1.0 / (theta ** torch.arange(0, width, 2)) / width",
        ),
    ],
    "the variables of a loop": [
        ("layer.weight.data = W.T", "layer.weight.data = W_query.T"),
    ],
    "a step done to one of two variables": [
        ("q, k = turn(q), turn(k)", "q = turn(q)", "q = turn(q); k = turn(k)"),
    ],
}


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), table_of(SLIPS))
def test_a_slip_is_undone_with_neighbouring_code(group, right, wrong, fixed):
    """The right program is among the edits of the wrong one."""
    assert_undone(BESIDE, group, right, wrong, fixed)
