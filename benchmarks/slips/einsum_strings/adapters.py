from assignment.einsum_attention import (
    attend,
    attention_probabilities,
    causal,
    many_heads,
    many_heads_rotary,
    per_head_matrices,
    plain_attention,
    qkv_attention,
    rotary,
    sines_and_cosines,
    softmax,
)


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return plain_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return qkv_attention(in_features, W_query, W_key, W_value)


def run_causal_mask(seq_len):
    return causal(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attention_probabilities(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return qkv_attention(in_features, W_query, W_key, W_value, mask=causal(in_features.shape[-2]))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    out = per_head_matrices(in_features, W_query, W_key, W_value)
    return out.flatten(-2)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return many_heads(
        in_features, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sines_and_cosines(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotary(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    return many_heads_rotary(
        in_features, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
        theta, token_positions,
    )
