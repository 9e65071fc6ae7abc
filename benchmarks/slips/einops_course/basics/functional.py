import math

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float
from torch import Tensor


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    peak = torch.max(x, dim=dim, keepdim=True).values
    exps = torch.exp(x - peak)
    return exps / torch.sum(exps, dim=dim, keepdim=True)


def attention_probabilities(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    d_k = Q.shape[-1]
    logits = einsum(Q, K, "... queries d_k, ... keys d_k -> ... queries keys")
    logits = logits / math.sqrt(d_k)
    if mask is not None:
        logits = logits.masked_fill(mask == 0, float("-inf"))
    return softmax(logits, dim=-1)


def scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    probs = attention_probabilities(Q, K, mask)
    return einsum(probs, V, "... queries keys, ... keys d_v -> ... queries d_v")


def causal_mask(seq: int, device: torch.device | None = None) -> Bool[Tensor, "seq seq"]:
    positions = torch.arange(seq, device=device)
    query_position = rearrange(positions, "query -> query 1")
    key_position = rearrange(positions, "key -> 1 key")
    return key_position <= query_position


def stacked_heads(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    x: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    pattern = "... seq d_in, heads d_in d_head -> ... heads seq d_head"
    Q = einsum(x, W_query, pattern)
    K = einsum(x, W_key, pattern)
    V = einsum(x, W_value, pattern)
    context = scaled_dot_product_attention(Q, K, V, causal_mask(x.shape[-2], x.device))
    return rearrange(context, "... heads seq d_head -> ... seq (heads d_head)")
