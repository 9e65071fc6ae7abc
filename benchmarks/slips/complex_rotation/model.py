from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Projections(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor


def softmax(x: Tensor, dim: int) -> Tensor:
    safe = x - torch.amax(x, dim=dim, keepdim=True)
    powers = math.e**safe
    return powers / torch.sum(powers, dim=dim, keepdim=True)


def visible(n: int) -> Tensor:
    """Which keys (columns) each query (row) may see."""
    return torch.ones(n, n).cumsum(dim=1) <= torch.arange(1, n + 1).unsqueeze(1)


def weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    energy = q @ k.transpose(-2, -1)
    energy /= math.sqrt(q.shape[-1])
    if mask is not None:
        energy = torch.where(mask, energy, -math.inf)
    return softmax(energy, -1)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return weights(q, k, mask) @ v


def stacked(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    x = x.unsqueeze(-3)  # an axis for the heads
    out = attention(x @ w_q, x @ w_k, x @ w_v, visible(x.shape[-2]))
    return merged(out)


def merged(x: Tensor) -> Tensor:
    h, n, d = x.shape[-3:]
    return x.transpose(-2, -3).reshape(x.shape[:-3] + (n, h * d))


def heads_of(x: Tensor, weight: Tensor, num_heads: int) -> Tensor:
    y = x @ weight.transpose(0, 1)
    width = y.shape[-1] // num_heads
    y = y.reshape(y.shape[:-1] + (num_heads, width))
    return y.transpose(-2, -3)


def self_attention(
    x: Tensor,
    num_heads: int,
    p: Projections,
    rotation: Rotation | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    q = heads_of(x, p.query, num_heads)
    k = heads_of(x, p.key, num_heads)
    v = heads_of(x, p.value, num_heads)
    if rotation:
        q = rotation(q, positions)
        k = rotation(k, positions)
    context = attention(q, k, v, visible(x.shape[-2]))
    return merged(context) @ p.output.transpose(0, 1)


class Rotation:
    """Rotates pairs of features as complex numbers."""

    def __init__(self, d_k: int, theta: float, max_seq_len: int) -> None:
        speed = theta ** -(torch.arange(0, d_k, 2) / d_k)
        phase = torch.arange(max_seq_len)[:, None] * speed[None, :]
        self.turns = torch.polar(torch.ones_like(phase), phase)

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        pairs = x.float().unflatten(-1, (-1, 2)).contiguous()
        numbers = torch.view_as_complex(pairs)
        turned = numbers * self.turns[positions]
        return torch.view_as_real(turned).flatten(-2).to(x.dtype)


def sinusoidal(n: int, d_model: int) -> Tensor:
    turns = Rotation(d_model, 10000.0, n).turns
    return torch.stack((turns.imag, turns.real), dim=-1).reshape(n, d_model)
