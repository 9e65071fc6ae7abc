import torch
import torch.nn.functional as F

from mha import count_parameters, future, multi_head, rotary, sdpa, single, stacked


def run_softmax(in_features, dim):
    return F.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features):
    return single(in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    return single(in_features, W_query, W_key, W_value)


def run_causal_mask(seq_len):
    return ~future(seq_len, seq_len, torch.device("cpu"))


def run_attention_weights(Q, K, mask=None):
    return sdpa(Q, K, None, mask, return_weights=True)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return sdpa(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return single(in_features, W_query, W_key, W_value, is_causal=True)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return stacked(W_query, W_key, W_value, in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(num_heads, *weights, in_features)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(num_heads, *weights, query, key, value, is_causal=is_causal)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return count_parameters(d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotary(in_query_or_key, token_positions, theta, max_seq_len)


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
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(
        num_heads,
        *weights,
        in_features,
        theta=theta,
        max_len=max_seq_len,
        positions=token_positions,
    )
