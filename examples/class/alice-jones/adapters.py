import math

import torch

import attention as A


def run_softmax(in_features, dim):
    return A.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    # no weights, no scaling here!
    w = A.softmax(in_features @ in_features.transpose(-2, -1), dim=-1)
    return w @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return A.attention(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    return A.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return A.attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if not training or p == 0:
        return weights
    if p == 1:
        return torch.zeros_like(weights)
    keep = torch.rand_like(weights) >= p
    return weights * keep / (1 - p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return A.attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    mask = A.causal_mask(in_features.shape[-2], in_features.device)
    return A.attention(in_features @ W_query, in_features @ W_key, in_features @ W_value, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    # one extra axis for the heads, matmul broadcasts the rest
    x = in_features.unsqueeze(-3)
    mask = A.causal_mask(in_features.shape[-2], in_features.device)
    return A.merge_heads(A.attention(x @ W_query, x @ W_key, x @ W_value, mask))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return A.multihead_attention(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
        in_features, in_features, in_features, causal=True,
    )


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    return A.multihead_attention(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
        query, key, value, causal=is_causal,
    )


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return A.sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    # max_seq_len is not needed, the angles are computed when they are wanted
    return A.rope(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None,
):
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    positions = token_positions.unsqueeze(-2)  # the same for every head

    return A.multihead_attention(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
        in_features, in_features, in_features,
        causal=True, rotate=lambda t: A.rope(t, positions, theta),
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    shapes = [(d_in, d_out)] * 3 + [(d_out, d_out)]
    if qkv_bias:
        shapes += [(d_out,)] * 3
    if out_bias:
        shapes += [(d_out,)]
    return sum(math.prod(s) for s in shapes)
