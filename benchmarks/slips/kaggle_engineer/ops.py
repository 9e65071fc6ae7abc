"""Stateless building blocks (F.* look-alikes). Everything works on trailing axes."""

from __future__ import annotations

import torch
from torch import Tensor


def stable_softmax(logits: Tensor, dim: int = -1) -> Tensor:
    shifted = logits - logits.amax(dim=dim, keepdim=True)
    numer = shifted.exp()
    return numer / numer.sum(dim=dim, keepdim=True)


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    if not training or p == 0.0:
        return x
    keep_prob = 1.0 - p
    mask = torch.bernoulli(torch.full_like(x, keep_prob))
    return x * mask / keep_prob


def build_causal_mask(size: int, device: torch.device | None = None) -> Tensor:
    """Boolean (size, size); True = may attend."""
    full = torch.ones(size, size, dtype=torch.bool, device=device)
    return full.tril()


def attention_probs(
    q: Tensor, k: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    if scale is None:
        scale = q.size(-1) ** -0.5
    logits = torch.matmul(q, k.transpose(-2, -1)) * scale
    if mask is not None:
        logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
    return stable_softmax(logits)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    probs = attention_probs(q, k, mask=mask, scale=scale)
    return torch.matmul(probs, v)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(..., seq, dim) -> (..., heads, seq, head_dim)"""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """(..., heads, seq, head_dim) -> (..., seq, dim)"""
    return x.transpose(-3, -2).flatten(start_dim=-2)
