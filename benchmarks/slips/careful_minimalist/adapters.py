"""Attention, all of it.

Notation: n queries, m keys, d features, h heads, e = d / h features of a head; "..." is whatever
stands in front and is never touched.
"""

import torch
from torch import Tensor


def split(x: Tensor, h: int) -> Tensor:
    """(..., n, h e) -> (..., h, n, e)"""
    return x.unflatten(-1, (h, -1)).transpose(-3, -2)


def merge(x: Tensor) -> Tensor:
    """(..., h, n, e) -> (..., n, h e), the inverse of split"""
    return x.transpose(-3, -2).flatten(-2)


def angles(t: Tensor, d: int, theta: float) -> Tensor:
    """t_i theta^(-2k/d) for k < d/2, in double precision: (..., n) -> (..., n, d/2)"""
    k = torch.arange(0, d, 2, device=t.device, dtype=torch.float64)
    return t[..., None] * theta ** (-k / d)


# --- one head -----------------------------------------------------------------------------------


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    e = (in_features - in_features.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def run_causal_mask(seq_len: int) -> Tensor:
    i = torch.arange(seq_len)
    return i[:, None] >= i[None, :]


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    s = Q @ K.mT * Q.shape[-1] ** -0.5
    if mask is not None:
        s = torch.where(mask, s, -torch.inf)
    return run_softmax(s, -1)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    if not training:
        return weights
    keep = torch.rand_like(weights) >= p
    return weights * keep / (1 - p)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return run_attention_weights(Q, K, mask) @ V


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    x = in_features
    return run_softmax(x @ x.mT, -1) @ x


def run_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    q, k, v = (in_features @ w for w in (W_query, W_key, W_value))
    return run_scaled_dot_product_attention(q, k, v)


def run_causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Any axes in front of the matrices broadcast, so that heads are a matter of the caller."""
    below = run_causal_mask(in_features.shape[-2]).to(in_features.device)
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    return run_scaled_dot_product_attention(q, k, v, below)


# --- many heads ---------------------------------------------------------------------------------


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    x = in_features[..., None, :, :]
    return merge(run_causal_self_attention(W_query, W_key, W_value, x))


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
) -> Tensor:
    Q = split(query @ q_proj_weight.mT, num_heads)
    K = split(key @ k_proj_weight.mT, num_heads)
    V = split(value @ v_proj_weight.mT, num_heads)
    mask = run_causal_mask(query.shape[-2]).to(query.device) if is_causal else None
    return merge(run_scaled_dot_product_attention(Q, K, V, mask)) @ o_proj_weight.mT


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    W = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    x = in_features
    return run_multihead_attention(d_model, num_heads, *W, x, x, x, is_causal=True)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return 3 * d_out * (d_in + qkv_bias) + d_out * (d_out + out_bias)


# --- positions ----------------------------------------------------------------------------------


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    a = angles(torch.arange(seq_len), d_model, 10_000.0)
    return torch.stack((a.sin(), a.cos()), -1).flatten(-2).float()


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    a = angles(token_positions, d_k, theta)
    c, s = a.cos().to(in_query_or_key.dtype), a.sin().to(in_query_or_key.dtype)
    x, y = in_query_or_key.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((x * c - y * s, x * s + y * c), -1).flatten(-2)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    n, e = in_features.shape[-2], d_model // num_heads
    t = torch.arange(n, device=in_features.device) if token_positions is None else token_positions
    q, k, v = (
        split(in_features @ w.mT, num_heads)
        for w in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    t = t[..., None, :]  # the same for each head
    q, k = (run_rope(e, theta, max_seq_len, x, t) for x in (q, k))
    causal = run_causal_mask(n).to(in_features.device)
    y = merge(run_scaled_dot_product_attention(q, k, v, causal))
    return y @ o_proj_weight.mT
