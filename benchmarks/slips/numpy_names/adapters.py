import numpy_names as npt


def run_softmax(in_features, dim):
    return npt.softmax(in_features, axis=dim)


def run_simple_self_attention(in_features):
    affinity = npt.matmul_nt(in_features, in_features)
    return npt.softmax(affinity) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    qkv = npt.project_all(in_features, [W_query, W_key, W_value])
    return npt.attention(*qkv)


def run_causal_mask(seq_len):
    return npt.past(seq_len, seq_len)


def run_attention_weights(Q, K, mask=None):
    return npt.softmax(npt.scores(Q, K, mask))


def run_attention_dropout(weights, p, training):
    if not training or p == 0:
        return weights
    return npt.thin_out(weights, p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return npt.attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    qkv = npt.project_all(in_features, [W_query, W_key, W_value])
    n = in_features.shape[-2]
    return npt.attention(*qkv, mask=npt.past(n, n, in_features.device))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x = in_features[..., None, :, :]
    n = in_features.shape[-2]
    qkv = npt.project_all(x, [W_query, W_key, W_value])
    return npt.concat_heads(npt.attention(*qkv, mask=npt.past(n, n, x.device)))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    block = npt.MultiHeadParams(
        num_heads, d_model, [q_proj_weight, k_proj_weight, v_proj_weight], o_proj_weight
    )
    return npt.multihead(block, [in_features] * 3, is_causal=True)


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
    block = npt.MultiHeadParams(
        num_heads, d_model, [q_proj_weight, k_proj_weight, v_proj_weight], o_proj_weight
    )
    return npt.multihead(block, [query, key, value], is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return npt.positional_waves(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return npt.rope(in_query_or_key, token_positions, theta)


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
    block = npt.MultiHeadParams(
        num_heads, d_model, [q_proj_weight, k_proj_weight, v_proj_weight], o_proj_weight, theta
    )
    return npt.multihead(block, [in_features] * 3, is_causal=True, positions=token_positions)
