from mha import (
    attention_one_head,
    attention_scores,
    build_mask,
    causal_multi_head,
    causal_multi_head_rope,
    multi_head_stacked,
    positional_encoding,
    self_attention_no_weights,
    single_head,
    soft_max,
)
from rope import apply_rope


def run_softmax(in_features, dim):
    return soft_max(in_features, dim)


def run_simple_self_attention(in_features):
    return self_attention_no_weights(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return single_head(in_features, W_query, W_key, W_value)


def run_causal_mask(seq_len):
    return build_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return soft_max(attention_scores(Q, K, mask), -1)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention_one_head(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return single_head(in_features, W_query, W_key, W_value, build_mask(in_features.shape[-2]))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return multi_head_stacked(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return causal_multi_head(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
    )


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return positional_encoding(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return apply_rope(in_query_or_key, token_positions, d_k, theta)


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
    return causal_multi_head_rope(
        num_heads,
        theta,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
        token_positions,
    )
