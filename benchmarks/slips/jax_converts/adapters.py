import heads
import ops
import rotary


def run_softmax(in_features, dim):
    return ops.softmax(in_features, axis=dim)


def run_simple_self_attention(in_features):
    return ops.vectorize(ops.self_similarity_attention)(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    params = heads.qkv_params(W_query, W_key, W_value)
    return heads.single_head(params, in_features)


def run_causal_mask(seq_len):
    return ops.causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return ops.attention_probs(Q, K, mask)


def run_attention_dropout(weights, p, training):
    return ops.dropout(weights, rate=p, deterministic=not training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return ops.dot_product_attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    params = heads.qkv_params(W_query, W_key, W_value)
    return heads.causal_single_head(params, in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    params = heads.qkv_params(W_query, W_key, W_value)
    return heads.stacked_heads(params, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    params = heads.multi_head_params(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    return heads.self_attention(params, in_features)


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
    params = heads.multi_head_params(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    return heads.cross_attention(params, query, key, value, is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return heads.tree_size(heads.multi_head_shapes(d_in, d_out, qkv_bias, out_bias))


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return rotary.sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotary.rotary_embedding(in_query_or_key, token_positions, d_k, theta, max_seq_len)


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
    params = heads.multi_head_params(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    return heads.rotary_self_attention(
        params, in_features, theta, max_seq_len, token_positions
    )
