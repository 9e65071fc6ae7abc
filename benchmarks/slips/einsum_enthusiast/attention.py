"""Attention as a handful of einsums.

Letters: s = sequence, q = queries, k = keys, h = heads, d = features of one head,
i = features in, o = features out.
"""

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, einsum

from rope import apply_rope


def softmax(x: Float[Tensor, "..."], dim: int = -1) -> Float[Tensor, "..."]:
    shifted = x - x.amax(dim=dim, keepdim=True)
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=dim, keepdim=True)


def causal_mask(seq_len: int, device=None) -> Bool[Tensor, "q k"]:
    idx = torch.arange(seq_len, device=device)
    q_idx = rearrange(idx, "q -> q 1")
    k_idx = rearrange(idx, "k -> 1 k")
    return k_idx <= q_idx


def scaled_scores(
    Q: Float[Tensor, "... q d"], K: Float[Tensor, "... k d"]
) -> Float[Tensor, "... q k"]:
    scale = Q.shape[-1] ** -0.5
    return einsum("...qd,...kd->...qk", Q, K) * scale


def attention_weights(
    Q: Float[Tensor, "... q d"],
    K: Float[Tensor, "... k d"],
    mask: Bool[Tensor, "... q k"] | None = None,
) -> Float[Tensor, "... q k"]:
    scores = scaled_scores(Q, K)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, dim=-1)


def attend(
    Q: Float[Tensor, "... q d"],
    K: Float[Tensor, "... k d"],
    V: Float[Tensor, "... k v"],
    mask: Bool[Tensor, "... q k"] | None = None,
) -> Float[Tensor, "... q v"]:
    A = attention_weights(Q, K, mask)
    return einsum("...qk,...kv->...qv", A, V)


def linear(x: Float[Tensor, "... i"], W: Float[Tensor, "o i"]) -> Float[Tensor, "... o"]:
    """nn.Linear without the bias."""
    return einsum("...i,oi->...o", x, W)


def split_heads(x: Float[Tensor, "... s hd"], num_heads: int) -> Float[Tensor, "... h s d"]:
    return rearrange(x, "... s (h d) -> ... h s d", h=num_heads)


def merge_heads(x: Float[Tensor, "... h s d"]) -> Float[Tensor, "... s hd"]:
    return rearrange(x, "... h s d -> ... s (h d)")


def self_attention(
    x: Float[Tensor, "... s i"],
    Wq: Float[Tensor, "i o"],
    Wk: Float[Tensor, "i o"],
    Wv: Float[Tensor, "i o"],
    causal: bool,
) -> Float[Tensor, "... s o"]:
    Q = einsum("...si,io->...so", x, Wq)
    K = einsum("...si,io->...so", x, Wk)
    V = einsum("...si,io->...so", x, Wv)
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return attend(Q, K, V, mask)


def stacked_heads(
    x: Float[Tensor, "... s i"],
    Wq: Float[Tensor, "h i d"],
    Wk: Float[Tensor, "h i d"],
    Wv: Float[Tensor, "h i d"],
) -> Float[Tensor, "... s hd"]:
    Q, K, V = (einsum("...si,hid->...hsd", x, W) for W in (Wq, Wk, Wv))
    heads = attend(Q, K, V, causal_mask(x.shape[-2], x.device))
    return rearrange(heads, "... h s d -> ... s (h d)")


def multihead(
    query: Float[Tensor, "... q i"],
    key: Float[Tensor, "... k i"],
    value: Float[Tensor, "... k i"],
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    num_heads: int,
    causal: bool = True,
) -> Float[Tensor, "... q i"]:
    Wq, Wk, Wv, Wo = weights
    Q = split_heads(linear(query, Wq), num_heads)
    K = split_heads(linear(key, Wk), num_heads)
    V = split_heads(linear(value, Wv), num_heads)
    mask = causal_mask(Q.shape[-2], Q.device) if causal else None
    out = merge_heads(attend(Q, K, V, mask))
    return linear(out, Wo)


def multihead_with_rope(
    x: Float[Tensor, "... s i"],
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    num_heads: int,
    theta: float,
    positions: Int[Tensor, "... s"] | None = None,
) -> Float[Tensor, "... s i"]:
    seq_len = x.shape[-2]
    if positions is None:
        positions = torch.arange(seq_len, device=x.device)
    positions = rearrange(positions, "... s -> ... 1 s")  # the same for every head
    *Wqkv, Wo = weights
    q, k, v = (split_heads(linear(x, W), num_heads) for W in Wqkv)
    q = apply_rope(q, positions, theta)
    k = apply_rope(k, positions, theta)
    heads = attend(q, k, v, causal_mask(seq_len, x.device))
    return einsum("...shd,ohd->...so", rearrange(heads, "... h s d -> ... s h d"),
                  rearrange(Wo, "o (h d) -> o h d", h=num_heads))
