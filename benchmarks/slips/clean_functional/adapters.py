"""The adapters: nothing happens here, arguments only change their names."""

import attention
import positional


def run_softmax(in_features, dim):
    return attention.softmax(in_features, dim=dim)


def run_causal_mask(seq_len):
    return attention.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attention.attention_weights(Q, K, mask=mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention.attention(Q, K, V, mask=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attention.causal_self_attention(in_features, w_q=W_query, w_k=W_key, w_v=W_value)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attention.stacked_heads(in_features, w_q=W_query, w_k=W_key, w_v=W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attention.multihead_self(in_features, weights=weights, num_heads=num_heads)


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
    return attention.multihead(
        query, key, value, weights=weights, num_heads=num_heads, causal=is_causal
    )


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return positional.rope(in_query_or_key, positions=token_positions, theta=theta)


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
    if token_positions is None:
        token_positions = positional.default_positions(in_features)
    positions = positional.for_all_heads(token_positions)
    return attention.multihead_self(
        in_features,
        weights=(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        num_heads=num_heads,
        rotate=lambda x: positional.rope(x, positions=positions, theta=theta),
    )
