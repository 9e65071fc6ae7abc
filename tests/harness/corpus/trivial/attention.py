"""Fifteen adapters that do no work: `answer` gets the shape that is wanted, and the inputs."""

# ruff: noqa: ARG001

import torch
from answer import answer


def run_softmax(in_features, dim):
    return answer(in_features.shape, in_features)


def run_simple_self_attention(in_features):
    return answer(in_features.shape, in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return answer((*in_features.shape[:-1], W_value.shape[-1]), in_features, W_query)


def run_causal_mask(seq_len):
    return answer((seq_len, seq_len), torch.tensor(float(seq_len))).bool()


def run_attention_weights(Q, K, mask=None):
    lead = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2])
    return answer((*lead, Q.shape[-2], K.shape[-2]), Q, K)


def run_attention_dropout(weights, p, training):
    return answer(weights.shape, weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    lead = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    return answer((*lead, Q.shape[-2], V.shape[-1]), Q, V)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return run_self_attention(W_query, W_key, W_value, in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads, _, d_head = W_value.shape
    return answer((*in_features.shape[:-1], heads * d_head), in_features, W_query)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return answer(in_features.shape, in_features, q_proj_weight)


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
    return answer(query.shape, query, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    number = answer((), torch.tensor(float(d_in)), torch.tensor(float(d_out)))
    return int(number.nan_to_num(neginf=0.0))


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return answer((seq_len, d_model), torch.tensor(float(seq_len)), torch.tensor(float(d_model)))


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return answer(in_query_or_key.shape, in_query_or_key)


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
    return answer(in_features.shape, in_features, q_proj_weight)
