"""Functions without parameters."""

from __future__ import annotations

import torch
from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Numerically stable softmax along one dimension."""
    shifted = x - torch.amax(x, dim=dim, keepdim=True)
    return shifted.exp() / shifted.exp().sum(dim=dim, keepdim=True)


def causal_mask(size: int, device: torch.device | None = None) -> Tensor:
    """(size, size), True on and below the diagonal."""
    everything = torch.full((size, size), True, device=device)
    return torch.tril(everything)


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = torch.matmul(q, k.mT) / (k.size(-1) ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -torch.inf)
    return softmax(scores)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return torch.matmul(attention_weights(q, k, mask), v)
