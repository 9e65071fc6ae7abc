import torch

import layers


def run_simple_self_attention(in_features):
    return layers.Unscaled()(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return layers.Projected(W_query, W_key, W_value)(in_features)


def run_attention_weights(Q, K, mask=None):
    attention = layers.GivenMask(mask)
    return attention.weights(Q, K)


def run_attention_dropout(weights, p, training):
    dropout = layers.Dropout(p).train(training)
    return dropout(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attention = layers.Attention() if mask is None else layers.GivenMask(mask)
    return attention(Q, K, V)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return layers.CausalProjected(W_query, W_key, W_value)(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return layers.StackedHeads(W_query, W_key, W_value)(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    assert d_model == num_heads * (d_model // num_heads)
    attention = layers.CausalMultiHead(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    return attention(in_features)


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
    kind = layers.CausalMultiHead if is_causal else layers.MultiHead
    attention = kind(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attention(query, key, value)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    projection = (layers.Biased if qkv_bias else layers.Matrix)(d_in, d_out)
    output = (layers.Biased if out_bias else layers.Matrix)(d_out, d_out)
    return 3 * projection.count() + output.count()


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return layers.Sinusoidal(d_model).table(seq_len)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary = layers.Rotary(d_k, theta, in_query_or_key.device)
    return rotary(in_query_or_key, token_positions)


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
    rotary = layers.Rotary(d_model // num_heads, theta, x.device)
    attention = layers.RotaryMultiHead(
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        rotary=rotary,
        positions=token_positions,
    )
    return attention(x)
