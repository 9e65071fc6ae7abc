"""Adapters: the names of the assignment, the functions of the lecture."""

import heads
import mathops


def run_softmax(in_features, dim):
    return mathops.softmax(in_features, dim)


def run_causal_mask(seq_len):
    return mathops.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return mathops.attention_weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return mathops.attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return heads.causal_head(in_features, W_query, W_key, W_value)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return heads.stacked_heads(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    assert in_features.shape[-1] == d_model
    x = in_features
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return heads.multi_head(x, x, x, num_heads, *weights, causal=True)


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
    assert query.shape[-1] == d_model
    return heads.multi_head(
        query,
        key,
        value,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        causal=is_causal,
    )


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    assert in_query_or_key.shape[-1] == d_k
    return mathops.rope(in_query_or_key, token_positions, d_k, theta)


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
    assert d_model % num_heads == 0
    W = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return heads.multi_head_rope(in_features, num_heads, theta, *W, positions=token_positions)
