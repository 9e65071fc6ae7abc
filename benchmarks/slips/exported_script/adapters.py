import torch

import attention_lecture as lecture


def run_softmax(in_features, dim):
    return lecture.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return lecture.simple_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return lecture.self_attention(in_features, W_query, W_key, W_value, causal=False)


def run_causal_mask(seq_len):
    return lecture.make_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return lecture.get_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return lecture.dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return lecture.get_context(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return lecture.self_attention(in_features, W_query, W_key, W_value, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return lecture.stacked_heads(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = in_features
    return lecture.multihead(x, x, x, weights, num_heads, causal=True)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return lecture.multihead(query, key, value, weights, num_heads, is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return lecture.count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return lecture.sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return lecture.rope(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    head_positions = token_positions.unsqueeze(-2)

    def rotate(t):
        return lecture.rope(t, head_positions, theta)

    x = in_features
    return lecture.multihead(x, x, x, weights, num_heads, causal=True, rotate=rotate)
