"""Homework 2. One head after the other, as in the picture of the paper."""

import torch

from heads import head_slices, one_head, weights_of_head
from positions import rotate_pairs, sin_cos_table


def run_softmax(in_features, dim):
    return torch.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features):
    scores = in_features.matmul(in_features.mT)
    return torch.softmax(scores, dim=-1).matmul(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return one_head(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    future = torch.triu(torch.ones(seq_len, seq_len), diagonal=1)
    return future == 0


def run_attention_weights(Q, K, mask=None):
    return weights_of_head(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if not training or p == 0.0:
        return weights
    dropped = torch.rand(weights.shape, device=weights.device) < p
    result = weights.masked_fill(dropped, 0.0)
    return result / (1.0 - p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return one_head(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    mask = run_causal_mask(in_features.size(-2)).to(in_features.device)
    return one_head(in_features @ W_query, in_features @ W_key, in_features @ W_value, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    outputs = []
    for h in range(len(W_query)):
        out = run_causal_self_attention(W_query[h], W_key[h], W_value[h], in_features)
        outputs.append(out)
    return torch.cat(outputs, dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    x = in_features
    mask = run_causal_mask(x.size(-2)).to(x.device)
    Q, K, V = x @ q_proj_weight.T, x @ k_proj_weight.T, x @ v_proj_weight.T
    heads = []
    for part in head_slices(d_model, num_heads):
        heads.append(one_head(Q[..., part], K[..., part], V[..., part], mask))
    return torch.cat(heads, dim=-1) @ o_proj_weight.T


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
    mask = None
    if is_causal:
        mask = run_causal_mask(query.size(-2)).to(query.device)
    Q = query @ q_proj_weight.T
    K = key @ k_proj_weight.T
    V = value @ v_proj_weight.T
    heads = []
    for part in head_slices(d_model, num_heads):
        heads.append(one_head(Q[..., part], K[..., part], V[..., part], mask))
    return torch.cat(heads, dim=-1) @ o_proj_weight.T


def run_sinusoidal_positional_encoding(seq_len, d_model):
    table = torch.empty(seq_len, d_model)
    pos = torch.arange(seq_len, dtype=torch.float32)
    for pair in range(d_model // 2):
        wavelength = 10000 ** (2 * pair / d_model)
        table[:, 2 * pair] = torch.sin(pos / wavelength)
        table[:, 2 * pair + 1] = torch.cos(pos / wavelength)
    return table


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    cos, sin = sin_cos_table(d_k, theta, max_seq_len, in_query_or_key.device)
    return rotate_pairs(in_query_or_key, cos[token_positions], sin[token_positions])


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
    x = in_features
    seq = x.size(-2)
    if token_positions is None:
        token_positions = torch.arange(seq, device=x.device)
    d_head = d_model // num_heads
    mask = run_causal_mask(seq).to(x.device)
    Q, K, V = x @ q_proj_weight.T, x @ k_proj_weight.T, x @ v_proj_weight.T
    heads = []
    for part in head_slices(d_model, num_heads):
        q_h = run_rope(d_head, theta, max_seq_len, Q[..., part], token_positions)
        k_h = run_rope(d_head, theta, max_seq_len, K[..., part], token_positions)
        heads.append(one_head(q_h, k_h, V[..., part], mask))
    return torch.cat(heads, dim=-1) @ o_proj_weight.T


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    count = 0
    for _ in ("query", "key", "value"):
        count += d_in * d_out
        if qkv_bias:
            count += d_out
    count += d_out * d_out
    if out_bias:
        count += d_out
    return count
