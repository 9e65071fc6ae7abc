"""Attention as a handful of small pure functions."""

import math
from functools import partial

import torch
from torch import Tensor


def softmax(x: Tensor, *, dim: int = -1) -> Tensor:
    """Subtract the maximum first: the result is the same, and exp cannot overflow."""
    shifted = torch.sub(x, torch.amax(x, dim=dim, keepdim=True))
    exps = torch.exp(shifted)
    return torch.div(exps, torch.sum(exps, dim=dim, keepdim=True))


def causal_mask(seq_len: int, *, device: torch.device | None = None) -> Tensor:
    """True on and below the diagonal."""
    ones = torch.ones((seq_len, seq_len), dtype=torch.bool, device=device)
    return torch.tril(ones, diagonal=0)


def scaled_scores(q: Tensor, k: Tensor, *, scale: float | None = None) -> Tensor:
    """q k^T, scaled by 1 / sqrt(d_k) unless another scale is given."""
    scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    return torch.mul(torch.matmul(q, torch.transpose(k, -2, -1)), scale)


def hide(scores: Tensor, *, mask: Tensor | None = None, fill: float = -math.inf) -> Tensor:
    """Replace the scores that the mask does not allow."""
    if mask is None:
        return scores
    return torch.masked_fill(scores, torch.logical_not(mask), fill)


def attention_weights(q: Tensor, k: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """softmax(q k^T / sqrt(d_k)) over the keys."""
    return softmax(hide(scaled_scores(q, k), mask=mask), dim=-1)


def attention(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """Average the values with the attention weights."""
    return torch.matmul(attention_weights(q, k, mask=mask), v)


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """As torch.nn.Linear without bias."""
    return torch.matmul(x, torch.transpose(weight, 0, 1))


def split_heads(x: Tensor, *, num_heads: int) -> Tensor:
    """(..., seq, heads * d_head) -> (..., heads, seq, d_head)"""
    d_head = x.shape[-1] // num_heads
    by_head = torch.reshape(x, (*x.shape[:-1], num_heads, d_head))
    return torch.transpose(by_head, -3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """(..., heads, seq, d_head) -> (..., seq, heads * d_head)"""
    by_token = torch.transpose(x, -3, -2)
    return torch.flatten(by_token, start_dim=-2)


def causal_self_attention(x: Tensor, *, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """One causal head whose weights multiply from the right."""
    q, k, v = (torch.matmul(x, w) for w in (w_q, w_k, w_v))
    return attention(q, k, v, mask=causal_mask(x.shape[-2], device=x.device))


def stacked_heads(x: Tensor, *, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """Every head by broadcasting: x gets a head axis, then the heads go side by side."""
    heads = causal_self_attention(torch.unsqueeze(x, -3), w_q=w_q, w_k=w_k, w_v=w_v)
    return merge_heads(heads)


def identity(x: Tensor) -> Tensor:
    return x


def multihead(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    num_heads: int = 1,
    causal: bool = False,
    rotate=identity,
) -> Tensor:
    """Project, split, rotate (if asked to), attend, merge, project."""
    w_q, w_k, w_v, w_o = weights
    split = partial(split_heads, num_heads=num_heads)
    pairs = ((query, w_q), (key, w_k), (value, w_v))
    q, k, v = (split(linear(x, w)) for x, w in pairs)
    mask = causal_mask(query.shape[-2], device=query.device) if causal else None
    context = attention(rotate(q), rotate(k), v, mask=mask)
    return linear(merge_heads(context), w_o)


def multihead_self(x: Tensor, *, causal: bool = True, **options) -> Tensor:
    """Multi-head attention of a sequence to itself."""
    return multihead(x, x, x, causal=causal, **options)
