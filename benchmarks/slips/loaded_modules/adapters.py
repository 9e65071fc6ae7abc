"""Builds the modules of layers.py, fills in the given weights, runs them."""
import torch

from layers import (
    CausalHead,
    CrossAttention,
    MultiHeadSelfAttention,
    PositionalEncoding,
    RotaryEmbedding,
    ScaledDotProductAttention,
    count_parameters,
    lower_triangle,
    stable_softmax,
)


def _state(q, k, v, o):
    return {
        "q_proj.weight": q,
        "k_proj.weight": k,
        "v_proj.weight": v,
        "out_proj.weight": o,
    }


def run_softmax(in_features, dim):
    return stable_softmax(in_features, dim)


def run_causal_mask(seq_len):
    return lower_triangle(seq_len)


def run_attention_weights(Q, K, mask=None):
    return ScaledDotProductAttention(Q.shape[-1]).weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return ScaledDotProductAttention(Q.shape[-1])(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = CausalHead(*W_query.shape)
    head.set_weights(W_query, W_key, W_value)
    return head(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    module = MultiHeadSelfAttention(d_model, num_heads).to(in_features)
    state = _state(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    module.load_state_dict(state, assign=True)
    return module(in_features)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    module = CrossAttention(d_model, num_heads, causal=is_causal).to(query)
    state = _state(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    module.load_state_dict(state, assign=True)
    return module(query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    with torch.device("meta"):
        return count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return PositionalEncoding(d_model)(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RotaryEmbedding(d_k, theta)(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, token_positions=None
):
    rope = RotaryEmbedding(d_model // num_heads, theta)
    module = MultiHeadSelfAttention(d_model, num_heads, rope=rope).to(in_features)
    state = _state(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    module.load_state_dict(state, assign=True)
    return module(in_features, token_positions)
