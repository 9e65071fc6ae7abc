"""Stateless functions (softmax, masks, attention)."""

import math

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor


def softmax(x: Float[Tensor, "..."], dim: int = -1) -> Float[Tensor, "..."]:
    # subtract the max so that exp does not overflow
    x_max = x.amax(dim=dim, keepdim=True)
    exp_x = torch.exp(x - x_max)
    return exp_x / exp_x.sum(dim=dim, keepdim=True)


def causal_mask(seq_len: int, device: torch.device | None = None) -> Bool[Tensor, "seq seq"]:
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
    return torch.tril(ones)


def attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    d_k = Q.shape[-1]
    scores = einsum(Q, K, "... queries d_k, ... keys d_k -> ... queries keys")
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, dim=-1)


def scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    weights = attention_weights(Q, K, mask)
    return einsum(weights, V, "... queries keys, ... keys d_v -> ... queries d_v")
