import torch

from attn import many, rope, single


def run_softmax(in_features, dim):
    return single.softmax(in_features, dim)


def run_self_attention(W_query, W_key, W_value, in_features):
    return single.attend_with((W_query, W_key, W_value), in_features)


def run_causal_mask(seq_len):
    return single.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return single.weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return single.attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return single.attend_with((W_query, W_key, W_value), in_features, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return many.stacked(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return many.multihead(num_heads, weights, [in_features] * 3, causal=True)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return many.multihead(num_heads, weights, (query, key, value), is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return many.parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return rope.sinusoids(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rope.rotate(in_query_or_key, token_positions, theta)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    positions = token_positions
    if positions is None:
        positions = torch.arange(in_features.shape[-2], device=in_features.device)
    rotary = (theta, positions)
    return many.multihead(num_heads, weights, [in_features] * 3, True, rotary)
