"""Slips that other lines of a program, or other files, help to undo."""

from __future__ import annotations

import pytest

from tests.harness.marks import rest_long
from tests.harness.undoing import assert_undone, table_of

pytestmark = pytest.mark.unit

MODEL = """
import torch
from dataclasses import dataclass
from einops import rearrange
from torch import nn

@dataclass
class Config:
    width: int
    length: int
    heads: int = 1
    bias: bool = False

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.key = nn.Linear(4, 4)
        self.out_proj = nn.Linear(4, 4)
        self.register_buffer("mask", torch.ones(8, 8).tril().bool())

    def plain(self, x):
        n = x.shape[-2]
        mixed = self.weights(self.query(x), self.key(x), self.mask[:n, :n])
        return self.out_proj(mixed)

    def forward(self, x, is_causal=False, positions=None):
        n = x.shape[-2]
        q = self.query(x)
        mixed = self.weights(q, self.key(x), self.mask[:n, :n])
        return self.out_proj(mixed)

class Rotating(Attention):
    def forward(self, x, positions=None):
        return super().forward(x, is_causal=True, positions=positions)

class Tables:
    made = {}

    @classmethod
    def of(cls, width, length):
        settings = (width, length)
        if settings not in cls.made:
            cls.made[settings] = torch.arange(length)
        return cls.made[settings]

def softmax(x, dim):
    highest = x.max(dim=dim, keepdim=True).values
    return torch.exp(x - highest)

def split(x, heads):
    return rearrange(x, "s (h d) -> h s d", h=heads)

def count(d_in, d_out):
    return 3 * d_in * d_out + d_out * d_out

def compose(f, g):
    return lambda *given: f(g(*given))

def pairs(x):
    return x[..., 0::2], x[..., 1::2]

def tables(d_model, num_heads, max_len):
    return Tables.of(d_model // num_heads, max_len)

def configured(width, length, bias):
    return Config(width, length, bias=bias)

def positional(width, length):
    return Config(width, length=length)

class Other:
    def forward(self, x):
        return x

def attended(x, n):
    layer = Other()
    return layer(x)

def masked(x, positions, n):
    layer = Attention(Config(4, n))
    flags = future(n).to(x.device)
    return layer(x, is_causal=flags, positions=positions)

def future(n):
    return torch.ones(1, n, n).triu(1).bool().squeeze(0)

def opened(mask):
    return ~mask

def first(q, k, mask):
    return weights(q, k, hidden=opened(mask))

def second(q, k, v, mask):
    return weights(q, k, hidden=opened(mask)) @ v

def weights(q, k, hidden):
    dk = q.shape[-1]
    turned = k.transpose(-2, -1)
    scores = q @ turned / dk ** 0.5
    return scores.masked_fill(hidden, float("-inf")).softmax(-1)

def filled(layers, w_q, w_k, w_v):
    for layer, weight in zip(layers, (w_q, w_k, w_v)):
        layer.weight = nn.Parameter(weight)

def copied(model, query_weight, key_weight):
    model.query.weight.data.copy_(query_weight)
    model.key.weight.data.copy_(key_weight)
    return model

def projected(y: torch.Tensor, o_weight: torch.Tensor):
    return y @ o_weight.T

class Weights:
    def __init__(self, held):
        self.held = held

    def inner(self, x):
        return x @ self.held.T

    def outer(self, x):
        return x @ self.held

    @classmethod
    def of(cls, width, base=2.0):
        return cls(torch.ones(width) * base)

def both(weights, x):
    mixed = weights.inner(x)
    return weights.outer(mixed)

def shares(likings, along):
    grown = torch.exp(likings - likings.amax(dim=along, keepdim=True))
    return grown / grown.sum(dim=along, keepdim=True)

def hide(scores, mask):
    return scores.masked_fill(~mask, float("-inf"))

def seen(q, k, mask=None):
    return shares(hide(q @ k.mT, mask), along=-1)

def seen_in_order(q, k, v, is_causal):
    m = None
    if is_causal:
        m = future(q.shape[-2])
    return shares(hide(q @ k.mT, m), along=-1) @ v

def cast(module, x):
    for one in module.parameters():
        one.data = one.data.to(x.dtype)
    return module(x)

def made(width, theta):
    return Weights.of(width, base=theta)

def scaled(x, scale: float | None = None):
    turned = x.transpose(-2, -1)
    ahead = x.unsqueeze(-3)
    return turned if scale is None else ahead

def rotated(turn, q, k, v):
    return weights(turn(q), turn(k), v)

def sized(config):
    half = config.head_size // 2
    return half, config.head_size ** -0.5, config.model_size

def loaded(model, query, key, out):
    model.load_state_dict({"query.weight": query, "key.weight": key, "out_proj.weight": out})
"""

SLIPS = {
    "an option of the method that is overridden": [
        (
            "forward(x, is_causal=True, positions=positions)",
            "forward(x, positions=positions)",
            "forward(x, positions=positions, is_causal=True)",
        ),
    ],
    "which size is given": [
        ("Tables.of(d_model // num_heads", "Tables.of(d_model"),
    ],
    "where an argument lands": [
        ("Config(width, length=length)", "Config(length, length=width)"),
    ],
    "a keyword argument": [
        ("flags, positions=positions)", "flags)", "flags, positions=positions)"),
    ],
    "a scale beside a product of two names": [
        ("q @ turned / dk ** 0.5", "q @ turned", "(q @ turned) / dk ** 0.5"),
    ],
    "a weight that nothing loads": [
        ("y @ o_weight.T", "y"),
    ],
    "a second name for what was to be another": [
        ("turned = x.transpose(-2, -1)", "turned = x"),
        ("ahead = x.unsqueeze(-3)", "ahead = x"),
    ],
    "a parameter of one of two classes' methods": [
        ("Weights.of(width, base=theta)", "Weights.of(width)", "Weights.of(width, theta)"),
    ],
    "another size of the same": [
        ("config.head_size ** -0.5", "config.model_size ** -0.5"),
    ],
    "an axis named elsewhere": [
        ("grown.sum(dim=along, keepdim=True)", "grown.sum(dim=-1, keepdim=True)"),
    ],
}


@pytest.mark.parametrize(
    ("group", "right", "wrong", "fixed"), rest_long(table_of(SLIPS), 4, rows=True)
)
def test_a_slip_that_other_places_contradict_is_undone(group, right, wrong, fixed):
    """The right program, or an equivalent one, is among the edits of the wrong one."""
    assert_undone(MODEL, group, right, wrong, fixed)
