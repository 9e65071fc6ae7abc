"""Hands every exercise over to whoever of us took it."""

from members import anna, bilal, chen


def run_softmax(in_features, dim):
    return bilal.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return bilal.simple_self_attention(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    d_in, d_out = W_query.shape
    head = anna.SingleHead(d_in, d_out)
    head.load(W_query, W_key, W_value)
    return head(in_features)


def run_causal_mask(seq_len):
    mask = anna.CausalMask(seq_len)
    return mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return bilal.attention_weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    dropout = anna.WeightDropout(p)
    dropout.train(training)
    return dropout(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return bilal.attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    d_in, d_out = W_query.shape
    causal_head = anna.SingleHead(d_in, d_out, causal=True)
    causal_head.load(W_query, W_key, W_value)
    return causal_head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return chen.stacked(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    module = anna.MultiHeadSelfAttention(d_model, num_heads, max_len=in_features.shape[-2])
    module = module.to(in_features)
    module.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return module(in_features)


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
    config = chen.HeadsConfig(d_model, num_heads, causal=is_causal)
    projections = chen.Projections(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return chen.multihead(config, projections, query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    sizes = chen.Sizes(d_in, d_out, qkv_bias, out_bias)
    return chen.count_parameters(sizes)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return chen.sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return bilal.rope(in_query_or_key, token_positions, d_k, theta)


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
    rope_config = chen.HeadsConfig(d_model, num_heads, theta=theta, max_seq_len=max_seq_len)
    weights = chen.Projections(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x = in_features
    return chen.multihead(rope_config, weights, x, x, x, token_positions)
