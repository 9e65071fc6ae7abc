import attention_from_scratch as nb


def run_softmax(in_features, dim):
    return nb.softmax_stable(in_features, dim)


def run_simple_self_attention(in_features):
    return nb.simple_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return nb.self_attention(W_query, W_key, W_value, in_features)


def run_causal_mask(seq_len):
    return nb.create_causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return nb.attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return nb.attention_dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return nb.scaled_attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return nb.causal_attention(W_query, W_key, W_value, in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return nb.stacked_attention(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return nb.multihead_self_attention(d_model, num_heads, weights, in_features)


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
    return nb.multihead_cross_attention(
        d_model, num_heads, weights, query, key, value, is_causal
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return nb.parameter_count(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return nb.SinusoidalEncoding(seq_len, d_model)(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return nb.apply_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions)


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
    return nb.multihead_attention_with_rope(
        d_model, num_heads, max_seq_len, theta, weights, in_features, token_positions
    )
