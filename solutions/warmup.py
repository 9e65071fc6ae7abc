"""Model answers to the warm-up: from a softmax to attention weights and their dropout."""

import math

import torch
from torch import Tensor


def softmax(in_features: Tensor, dim: int) -> Tensor:
    """Turn the numbers along `dim` into positive shares that sum to 1.

    Subtracting the largest number changes no share and keeps `exp` from overflowing.
    """
    largest = in_features.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(in_features - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def simple_self_attention(in_features: Tensor) -> Tensor:
    """Mix the tokens by how alike they are, without weights and without scaling."""
    scores = in_features @ in_features.transpose(-2, -1)
    weights = softmax(scores, dim=-1)
    return weights @ in_features


def causal_mask(seq_len: int) -> Tensor:
    """Allow each position (row) itself and what came before it (columns)."""
    positions = torch.arange(seq_len)
    return positions[:, None] >= positions[None, :]


def attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    """Share out each query's attention over the keys that it may see."""
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scaled = scores / math.sqrt(d_k)
    masked = scaled if mask is None else scaled.masked_fill(~mask, -torch.inf)
    return softmax(masked, dim=-1)


def self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    """Attend from every token to every token of the same sequence."""
    queries = in_features @ W_query
    keys = in_features @ W_key
    values = in_features @ W_value
    weights = attention_weights(queries, keys)
    return weights @ values


def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    """Drop each weight with probability `p` and scale the others, so that the mean stays."""
    if not training or p == 0:
        return weights
    kept = torch.rand_like(weights) >= p
    return torch.where(kept, weights / (1 - p), 0)
