"""Stateless functions: softmax, masks, dropout and the attention formula itself."""

import math

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    # Subtracting the maximum changes nothing in the result, but exp cannot overflow any more.
    x_max = x.max(dim=dim, keepdim=True).values
    exps = torch.exp(x - x_max)
    return exps / exps.sum(dim=dim, keepdim=True)


def causal_mask(
    seq_len: int, device: torch.device | None = None
) -> Bool[Tensor, "seq_len seq_len"]:
    """True on and below the diagonal: query i may look at key j iff j <= i."""
    idx = torch.arange(seq_len, device=device)
    queries, keys = idx[:, None], idx[None, :]
    return keys <= queries


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
    dropout_p: float = 0.0,
    training: bool = False,
) -> Float[Tensor, "... queries d_v"]:
    weights = attention_weights(Q, K, mask)
    weights = dropout(weights, dropout_p, training)
    return einsum(weights, V, "... queries keys, ... keys d_v -> ... queries d_v")


def simple_self_attention(x: Float[Tensor, "... seq d"]) -> Float[Tensor, "... seq d"]:
    """Attention without any parameters, the very first example of the lecture."""
    scores = einsum(x, x, "... i d, ... j d -> ... i j")
    weights = softmax(scores, dim=-1)
    return einsum(weights, x, "... i j, ... j d -> ... i d")


def dropout(x: Float[Tensor, "..."], p: float, training: bool) -> Float[Tensor, "..."]:
    """Inverted dropout: the survivors are scaled up, so nothing is left to do at test time."""
    if not training or p == 0.0:
        return x
    keep_prob = 1.0 - p
    keep = torch.rand_like(x) < keep_prob
    return x * keep / keep_prob
