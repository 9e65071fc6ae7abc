import torch

import flat
import rotary


def run_softmax(in_features, dim):
    return flat.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    x, lead = flat.pack(in_features)
    nothing = torch.zeros(1, 1, 1, dtype=x.dtype, device=x.device)
    return flat.unpack(flat.attend(x, x, x, nothing, scale=1.0), lead)


def run_attention_weights(Q, K, mask=None):
    q, lead = flat.pack(Q)
    k, _ = flat.pack(K)
    bias = flat.bias_of_mask(mask, Q, K)
    return flat.unpack(flat.weights(q, k, bias), lead)


def run_attention_dropout(weights, p, training):
    return flat.dropout(weights, p) if training else weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    q, lead = flat.pack(Q)
    k, v = flat.pack(K)[0], flat.pack(V)[0]
    return flat.unpack(flat.attend(q, k, v, flat.bias_of_mask(mask, Q, K)), lead)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return flat.stacked(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return flat.multihead(
        num_heads,
        (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        (in_features, in_features, in_features),
        is_causal=True,
    )


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
    return flat.multihead(
        num_heads,
        (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        (query, key, value),
        is_causal=is_causal,
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return flat.layer_size(d_in, d_out, qkv_bias) * 3 + flat.layer_size(d_out, d_out, out_bias)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x, lead = flat.pack(in_query_or_key)
    at = rotary.flat_positions(token_positions, in_query_or_key)
    return flat.unpack(rotary.turn(x, at, theta), lead)


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
    at = rotary.flat_positions(token_positions, in_features)
    return flat.multihead(
        num_heads,
        (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        (in_features, in_features, in_features),
        is_causal=True,
        turn=lambda x: rotary.turn(x, at.repeat_interleave(num_heads, dim=0), theta),
    )
