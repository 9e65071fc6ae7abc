"""What the grader calls: builds the modules, gives them their weights, runs them."""

from modules import Dropout, Head, MultiHead, Rotary, attend, causal, count_parameters, softmax


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_causal_mask(seq_len):
    return causal(seq_len)


def run_self_attention(W_query, W_key, W_value, in_features):
    head = Head(W_query.shape[0], W_query.shape[1], is_causal=False)
    head.load(W_query.T, W_key.T, W_value.T)
    return head(in_features, in_features, in_features)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = Head(W_query.shape[0], W_query.shape[1], is_causal=True)
    head.load(W_query.T, W_key.T, W_value.T)
    return head(in_features, in_features, in_features)


def run_attention_dropout(weights, p, training):
    layer = Dropout(p)
    layer.train(training)
    return layer(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = MultiHead(d_model, num_heads)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features)


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
    layer = MultiHead(d_model, num_heads, is_causal=is_causal)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rotary(d_k, theta)(in_query_or_key, token_positions)


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
    rotary = Rotary(d_model // num_heads, theta)
    layer = MultiHead(d_model, num_heads, rotary=rotary)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, positions=token_positions)
