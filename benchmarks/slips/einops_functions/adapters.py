import attention as attn


def run_softmax(in_features, dim):
    return attn.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return attn.similarity_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attn.single_head(in_features, W_query, W_key, W_value, causal=False)


def run_causal_mask(seq_len):
    return attn.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attn.attention_weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attn.scaled_dot_product_attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attn.single_head(in_features, W_query, W_key, W_value, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attn.stacked_heads(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return attn.multihead(
        in_features, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return attn.sinusoids(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return attn.rope(in_query_or_key, token_positions, theta)


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
    return attn.multihead_with_rope(
        in_features,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        theta,
        token_positions,
    )
