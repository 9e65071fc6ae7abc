from attn import core, heads, rotary


def run_softmax(in_features, dim):
    return core.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return core.attend(in_features, in_features, in_features, scale=1.0)


def run_self_attention(W_query, W_key, W_value, in_features):
    return heads.one_head(W_query, W_key, W_value, in_features)


def run_causal_mask(seq_len):
    return core.causal_mask(seq_len)


def run_attention_dropout(weights, p, training):
    return core.drop(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return core.attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return heads.one_head(W_query, W_key, W_value, in_features, is_causal=True)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    qkv = heads.fuse(q_proj_weight, k_proj_weight, v_proj_weight)
    return heads.self_attention(in_features, qkv, o_proj_weight, num_heads)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    qkv = heads.fuse(q_proj_weight, k_proj_weight, v_proj_weight)
    return heads.cross_attention(query, key, value, qkv, o_proj_weight, num_heads, is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return heads.parameter_count(d_in, d_out, qkv_bias, out_bias)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    table = rotary.angle_table(d_k, theta, max_seq_len, in_query_or_key.device)
    return rotary.rotate(in_query_or_key, table[token_positions])


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
    qkv = heads.fuse(q_proj_weight, k_proj_weight, v_proj_weight)
    d_head = d_model // num_heads
    table = rotary.angle_table(d_head, theta, max_seq_len, in_features.device)
    angles = rotary.lookup(table, token_positions, in_features.shape[-2])
    return heads.self_attention(in_features, qkv, o_proj_weight, num_heads, angles)
