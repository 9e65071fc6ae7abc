import attn


def run_softmax(in_features, dim):
    return attn.smax(in_features, dim)


def run_simple_self_attention(in_features):
    return attn.plain(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attn.single(in_features, W_query, W_key, W_value)


def run_causal_mask(seq_len):
    return attn.tri(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attn.weights(Q, K, mask=mask)


def run_attention_dropout(weights, p, training):
    return attn.drop(weights, p=p, train=training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attn.attend(Q, K, V, mask=mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attn.single(in_features, W_query, W_key, W_value, causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attn.stacked(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    wqkv = attn.fuse(q_proj_weight, k_proj_weight, v_proj_weight)
    return attn.mhsa(in_features, wqkv, o_proj_weight, h=num_heads)


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
    ws = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return attn.mha(query, key, value, *ws, h=num_heads, causal=is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return attn.n_params(d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return attn.sinusoid(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return attn.rope(in_query_or_key, token_positions, theta=theta, n_max=max_seq_len)


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
    wqkv = attn.fuse(q_proj_weight, k_proj_weight, v_proj_weight)
    kw = dict(pos=token_positions, theta=theta, n_max=max_seq_len)
    return attn.mhsa(in_features, wqkv, o_proj_weight, h=num_heads, **kw)
