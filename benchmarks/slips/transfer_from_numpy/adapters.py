"""Attention, step by step.

I have written a lot of numpy and not much torch, so everything here is spelled out with the few
functions that exist in both: matmul, transpose, reshape, where, sum with keepdims.
"""

import numpy as np
import torch

# ---------------------------------------------------------------- small helpers, as in numpy


def swap_last_axes(a):
    """np.swapaxes(a, -1, -2)"""
    return a.transpose(-1, -2)


def stable_softmax(x, axis):
    """exp(x) / sum(exp(x)), where the largest entry is subtracted first so nothing overflows."""
    x_max = torch.amax(x, axis=axis, keepdims=True)
    exp_x = torch.exp(x - x_max)
    total = torch.sum(exp_x, axis=axis, keepdims=True)
    return exp_x / total


def lower_triangle(n, device=None):
    """np.tri(n, dtype=bool): row i has True in the columns 0..i"""
    rows = torch.arange(n, device=device).reshape(n, 1)
    cols = torch.arange(n, device=device).reshape(1, n)
    return cols <= rows


def linear(x, W):
    """y = x W^T, the weight is stored as (out, in)"""
    return torch.matmul(x, swap_last_axes(W))


def attn_weights(Q, K, mask):
    """softmax(Q K^T / sqrt(d_k)), with -inf wherever the mask is False"""
    d_k = Q.shape[-1]
    K_T = swap_last_axes(K)
    scores = torch.matmul(Q, K_T)
    scores = scores / np.sqrt(d_k)
    if mask is not None:
        minus_inf = torch.full_like(scores, -np.inf)
        scores = torch.where(mask, scores, minus_inf)
    return stable_softmax(scores, axis=-1)


def attend(Q, K, V, mask):
    A = attn_weights(Q, K, mask)
    return torch.matmul(A, V)


def one_causal_head(W_q, W_k, W_v, X):
    """a single head, whose weights multiply from the right"""
    Q = torch.matmul(X, W_q)
    K = torch.matmul(X, W_k)
    V = torch.matmul(X, W_v)
    n_tokens = X.shape[-2]
    return attend(Q, K, V, lower_triangle(n_tokens, X.device))


def split_into_heads(x, num_heads):
    """(..., seq, d_model) -> (..., heads, seq, d_head)"""
    *lead, seq, d_model = x.shape
    d_head = d_model // num_heads
    x = x.reshape(*lead, seq, num_heads, d_head)
    return x.transpose(-3, -2)


def merge_heads(x):
    """(..., heads, seq, d_head) -> (..., seq, heads * d_head)"""
    *lead, num_heads, seq, d_head = x.shape
    x = x.transpose(-3, -2)
    return x.reshape(*lead, seq, num_heads * d_head)


def rope_cos_sin(d_k, theta, positions):
    """cos and sin of position * theta^(-2i/d_k), each of shape (..., seq, d_k / 2)"""
    i = torch.arange(0, d_k // 2, dtype=torch.float64, device=positions.device)
    freqs = theta ** (-2.0 * i / d_k)
    angles = positions[..., None] * freqs
    return torch.cos(angles), torch.sin(angles)


def rotate(x, cos, sin):
    """turn the pairs (x[0], x[1]), (x[2], x[3]), ... each by its angle"""
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    x_even = x[..., 0::2]
    x_odd = x[..., 1::2]
    out = torch.empty_like(x)
    out[..., 0::2] = x_even * cos - x_odd * sin
    out[..., 1::2] = x_even * sin + x_odd * cos
    return out


# ---------------------------------------------------------------- the adapters


def run_softmax(in_features, dim):
    return stable_softmax(in_features, axis=dim)


def run_causal_mask(seq_len):
    return lower_triangle(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attn_weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return one_causal_head(W_query, W_key, W_value, in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    num_heads = W_query.shape[0]
    outputs = []
    for h in range(num_heads):
        out_h = one_causal_head(W_query[h], W_key[h], W_value[h], in_features)
        outputs.append(out_h)
    return torch.concatenate(outputs, axis=-1)


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    x = in_features
    Q = split_into_heads(linear(x, q_proj_weight), num_heads)
    K = split_into_heads(linear(x, k_proj_weight), num_heads)
    V = split_into_heads(linear(x, v_proj_weight), num_heads)
    mask = lower_triangle(x.shape[-2], x.device)
    context = merge_heads(attend(Q, K, V, mask))
    return linear(context, o_proj_weight)


def run_multihead_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    query,
    key,
    value,
    is_causal,
):
    Q = linear(query, q_proj_weight)
    K = linear(key, k_proj_weight)
    V = linear(value, v_proj_weight)
    Q_heads = split_into_heads(Q, num_heads)
    K_heads = split_into_heads(K, num_heads)
    V_heads = split_into_heads(V, num_heads)
    if is_causal:
        mask = lower_triangle(query.shape[-2], query.device)
    else:
        mask = None
    heads = attend(Q_heads, K_heads, V_heads, mask)
    return linear(merge_heads(heads), o_proj_weight)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    cos, sin = rope_cos_sin(d_k, theta, token_positions)
    return rotate(in_query_or_key, cos, sin)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    seq = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(seq, device=in_features.device)
    q = split_into_heads(linear(in_features, q_proj_weight), num_heads)
    k = split_into_heads(linear(in_features, k_proj_weight), num_heads)
    v = split_into_heads(linear(in_features, v_proj_weight), num_heads)

    # every head has the same positions: a new axis where q and k have their heads
    positions = token_positions[..., None, :]
    cos, sin = rope_cos_sin(d_model // num_heads, theta, positions)
    q = rotate(q, cos, sin)
    k = rotate(k, cos, sin)

    causal = lower_triangle(seq, in_features.device)
    context = attend(q, k, v, causal)
    context = merge_heads(context)
    return linear(context, o_proj_weight)
