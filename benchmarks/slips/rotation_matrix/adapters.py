import attention
import bias as biases
import rotation
import torch


def bias_for(mask, like):
    return biases.none() if mask is None else biases.from_mask(mask, like.dtype)


def run_softmax(in_features, dim):
    return attention.softmax(in_features, dim)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attention.single_head(W_query, W_key, W_value, in_features, biases.none())


def run_causal_mask(seq_len):
    return biases.causal(seq_len) == 0


def run_attention_weights(Q, K, mask=None):
    return attention.shares(Q, K, bias_for(mask, Q))


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention.attention(Q, K, V, bias_for(mask, like=Q))


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    bias = biases.causal(x.shape[-2], x.dtype, x.device)
    return attention.single_head(W_query, W_key, W_value, x, bias)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attention.stacked(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    x = in_features
    weights = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    bias = biases.causal(x.shape[-2], x.dtype, x.device)
    return attention.multihead(num_heads, weights, x, x, x, bias)


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
    weights = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    bias = biases.none()
    if is_causal:
        bias = biases.causal(query.shape[-2], query.dtype, query.device)
    return attention.multihead(num_heads, weights, query, key, value, bias)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    qkv = 3 * (d_in * d_out)
    if qkv_bias:
        qkv += 3 * d_out
    out = d_out * d_out
    if out_bias:
        out += d_out
    return qkv + out


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return rotation.sinusoids(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotation.rotate_by_matrix(in_query_or_key, token_positions, theta)


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
    x = in_features
    if token_positions is None:
        token_positions = torch.arange(x.shape[-2], device=x.device)
    weights = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    bias = biases.causal(x.shape[-2], x.dtype, x.device)
    return attention.multihead(
        num_heads, weights, x, x, x, bias, theta=theta, positions=token_positions
    )
