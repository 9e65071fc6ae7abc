"""Functional core: no parameters and no state."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    return F.softmax(x, dim=dim)


def causal_mask(seq_len: int, device: torch.device | None = None) -> Tensor:
    """Boolean (seq_len, seq_len), True where the query (row) may attend to the key (column)."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device).tril()


def attention_weights(
    q: Tensor, k: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    if scale is None:
        scale = q.size(-1) ** -0.5
    scores = torch.matmul(q * scale, k.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention, (..., q, d_k), (..., k, d_k), (..., k, d_v) -> (..., q, d_v)."""
    weights = attention_weights(q, k, mask=mask, scale=scale)
    return torch.matmul(weights, v)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(..., seq, d_model) -> (..., heads, seq, head_dim)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """(..., heads, seq, head_dim) -> (..., seq, heads * head_dim)."""
    return x.transpose(-3, -2).flatten(start_dim=-2)


def rotary_angles(
    dim: int,
    max_seq_len: int,
    theta: float,
    device: torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """(max_seq_len, dim // 2): the angle of each pair at each position."""
    exponents = torch.arange(0, dim, 2, device=device, dtype=dtype) / dim
    inv_freq = 1.0 / (theta**exponents)
    positions = torch.arange(max_seq_len, device=device, dtype=dtype)
    return torch.outer(positions, inv_freq)


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the interleaved pairs (0, 1), (2, 3), ... of the last axis."""
    x1, x2 = x.unflatten(-1, (-1, 2)).unbind(dim=-1)
    y1 = x1 * cos - x2 * sin
    y2 = x1 * sin + x2 * cos
    return torch.stack((y1, y2), dim=-1).flatten(start_dim=-2)
