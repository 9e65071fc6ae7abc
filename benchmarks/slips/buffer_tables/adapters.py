import torch

from tables import (
    AttentionConfig,
    Attention,
    CausalAttention,
    RotaryTable,
    SinusoidTable,
    MaskTable,
    dropout,
    rotary_table,
)


def run_softmax(in_features, dim):
    return Attention.normalise(in_features, dim)


def run_self_attention(W_query, W_key, W_value, in_features):
    attention = Attention()
    return attention(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    return MaskTable(seq_len).window(seq_len)


def run_attention_dropout(weights, p, training):
    return dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return Attention()(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    config = AttentionConfig(d_model, num_heads, max_seq_len=in_features.shape[-2])
    layer = CausalAttention(config, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    weights = [(d_in, d_out)] * 3 + [(d_out, d_out)]
    biases = [d_out] * (3 * qkv_bias + out_bias)
    return sum(rows * columns for rows, columns in weights) + sum(biases)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return SinusoidTable(d_model, max_seq_len=seq_len)(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RotaryTable(d_k, theta, max_seq_len)(in_query_or_key, token_positions)


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
    config = AttentionConfig(d_model, num_heads, max_seq_len, theta)
    table = rotary_table(config.d_head, config.theta, config.max_seq_len)
    layer = CausalAttention(
        config, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, rope=table
    )
    return layer(in_features, token_positions)
