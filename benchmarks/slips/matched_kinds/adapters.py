import attn


def run_softmax(in_features, dim):
    return attn.stable_softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return attn.sdpa(in_features, in_features, in_features, scaling="none")


def run_self_attention(W_query, W_key, W_value, in_features):
    return attn.sdpa(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    return attn.sdpa(q, k, v, mask="causal")


def run_causal_mask(seq_len):
    return attn.allowed("causal", seq_len, seq_len)


def run_attention_weights(Q, K, mask=None):
    return attn.attention_map(Q, K, mask)


def run_attention_dropout(weights, p, training):
    match training, p:
        case (True, float() | int()) if p > 0:
            return attn.drop(weights, p)
        case _:
            return weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attn.sdpa(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    matrices = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "o": o_proj_weight}
    return attn.mha(num_heads, matrices, in_features, mask="causal")


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
    matrices = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "o": o_proj_weight}
    mask = "causal" if is_causal else "full"
    return attn.mha(num_heads, matrices, (query, key, value), mask=mask)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return attn.count(d_in, d_out, qkv_bias, out_bias)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return attn.rotary(in_query_or_key, token_positions, theta)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return attn.sinusoids(seq_len, d_model)


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
    matrices = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "o": o_proj_weight}
    place = ("rope", theta, token_positions)
    return attn.mha(num_heads, matrices, in_features, mask="causal", place=place)
