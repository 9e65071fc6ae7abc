"""The functions that the tests call; the work is done in layers.py."""

import torch

from layers import Attention, Head, MultiHead, RotaryEmbedding


def run_softmax(in_features, dim):
    return Attention.softmax(in_features, dim=dim)


def run_causal_mask(seq_len):
    return Attention.causal_mask(seq_len)


def run_simple_self_attention(in_features):
    attention = Attention(scaled=False)
    return attention(in_features, in_features, in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    head = Head(W_query, W_key, W_value, causal=False)
    return head(in_features)


def run_attention_weights(Q, K, mask=None):
    return Attention().weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attention = Attention()
    return attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = Head(W_query, W_key, W_value)
    return head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = Head.stack(W_query, W_key, W_value)
    outputs = [head(in_features) for head in heads]
    return torch.cat(outputs, dim=-1)


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    weights = _as_dict(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    layer = MultiHead(d_model, num_heads, weights)
    return layer(in_features)


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
    weights = _as_dict(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    layer = MultiHead(d_model, num_heads, weights, causal=is_causal)
    return layer(query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return MultiHead.count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary = RotaryEmbedding.shared(d_k, max_seq_len, theta)
    return rotary(in_query_or_key, token_positions)


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
    weights = _as_dict(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    layer = MultiHead.with_rope(d_model, num_heads, weights, max_seq_len, theta)
    return layer(in_features, positions=token_positions)


def _as_dict(query, key, value, output):
    return {"q": query, "k": key, "v": value, "o": output}
