"""Assignment 2, all in one file. Plain matrix products, heads on an axis of their own."""

import math

import torch


def my_softmax(x, dim):
    x_max = torch.max(x, dim=dim, keepdim=True)[0]
    exps = torch.exp(x - x_max)
    total = exps.sum(dim=dim, keepdim=True)
    return exps / total


def make_causal_mask(n, device=None):
    return torch.tril(torch.ones(n, n, dtype=torch.bool, device=device))


def attn_weights(q, k, mask=None):
    d_k = q.shape[-1]
    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))  # noqa: E712
    attn = my_softmax(scores, dim=-1)
    return attn


def attention(q, k, v, mask=None):
    attn = attn_weights(q, k, mask)
    return torch.matmul(attn, v)


def to_heads(x, num_heads):
    # (..., seq, d_model) -> (..., num_heads, seq, d_head)
    seq, d_model = x.shape[-2], x.shape[-1]
    d_head = d_model // num_heads
    x = x.reshape(*x.shape[:-2], seq, num_heads, d_head)
    x = x.transpose(-3, -2)
    return x


def from_heads(x):
    # (..., num_heads, seq, d_head) -> (..., seq, d_model)
    num_heads, seq, d_head = x.shape[-3:]
    x = x.transpose(-3, -2)
    return x.reshape(*x.shape[:-3], seq, num_heads * d_head)


def rope_angles(d_k, theta, token_positions):
    i = torch.arange(0, d_k, 2, device=token_positions.device).float()
    inv_freq = 1.0 / (theta ** (i / d_k))
    pos = token_positions.float()
    return pos[..., None] * inv_freq


def apply_rope(x, token_positions, theta):
    angles = rope_angles(x.shape[-1], theta, token_positions)
    cos = torch.cos(angles)
    sin = torch.sin(angles)
    x1 = x[..., ::2]
    x2 = x[..., 1::2]
    out1 = x1 * cos - x2 * sin
    out2 = x1 * sin + x2 * cos
    out = torch.stack([out1, out2], dim=-1)
    return out.flatten(start_dim=-2).to(x.dtype)


# ---------------------------------------------------------------- the functions that are tested


def run_softmax(in_features, dim):
    return my_softmax(in_features, dim)


def run_simple_self_attention(in_features):
    scores = in_features @ in_features.transpose(-2, -1)
    weights = my_softmax(scores, dim=-1)
    return weights @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    queries = in_features @ W_query
    keys = in_features @ W_key
    values = in_features @ W_value
    return attention(queries, keys, values)


def run_causal_mask(seq_len):
    return make_causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attn_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if not training:
        return weights
    keep = torch.rand_like(weights) > p
    if p == 0:
        return weights
    return weights * keep / (1 - p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    queries = in_features @ W_query
    keys = in_features @ W_key
    values = in_features @ W_value
    mask = make_causal_mask(in_features.shape[-2], in_features.device)
    return attention(queries, keys, values, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x = in_features[..., None, :, :]  # (..., 1, seq, d_in): the same tokens for every head
    queries = x @ W_query
    keys = x @ W_key
    values = x @ W_value
    mask = make_causal_mask(in_features.shape[-2], in_features.device)
    heads = attention(queries, keys, values, mask)
    return from_heads(heads)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return run_multihead_attention(
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
        in_features,
        in_features,
        is_causal=True,
    )


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
    q = query @ q_proj_weight.T
    k = key @ k_proj_weight.T
    v = value @ v_proj_weight.T
    q = to_heads(q, num_heads)
    k = to_heads(k, num_heads)
    v = to_heads(v, num_heads)
    mask = None
    if is_causal:
        mask = make_causal_mask(q.shape[-2], q.device)
    context = attention(q, k, v, mask)
    context = from_heads(context)
    return context @ o_proj_weight.T


def run_sinusoidal_positional_encoding(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len).unsqueeze(1)
    exponent = torch.arange(0, d_model, 2) / d_model
    div_term = 10000.0**exponent
    pe[:, 0::2] = torch.sin(position / div_term)
    pe[:, 1::2] = torch.cos(position / div_term)
    return pe


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return apply_rope(in_query_or_key, token_positions, theta)


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
    pos = token_positions[..., None, :]  # every head has the same positions
    q = to_heads(in_features @ q_proj_weight.T, num_heads)
    k = to_heads(in_features @ k_proj_weight.T, num_heads)
    v = to_heads(in_features @ v_proj_weight.T, num_heads)
    q = apply_rope(q, pos, theta)
    k = apply_rope(k, pos, theta)
    context = attention(q, k, v, make_causal_mask(seq, in_features.device))
    return from_heads(context) @ o_proj_weight.T


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    per_projection = d_in * d_out
    if qkv_bias:
        per_projection += d_out
    total = 3 * per_projection
    total += d_out * d_out
    if out_bias:
        total += d_out
    return total
