"""Adapters, Mei Tanaka (group 7)"""
import torch
import torch.nn.functional as F

from attention import Dropout, MultiHeadAttention, Rope, attend, sinusoidal, tril_mask, weights as attn


def run_softmax(in_features, dim):
    return F.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features):
    x = in_features
    return F.softmax(x.matmul(x.transpose(-1, -2)), dim=-1).matmul(x)


def run_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return attend(x.matmul(W_query), x.matmul(W_key), x.matmul(W_value))


def run_causal_mask(seq_len):
    return tril_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attn(Q, K, mask)


def run_attention_dropout(weights, p, training):
    dropout = Dropout(p)
    return dropout(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    mask = tril_mask(x.shape[-2], x.device)
    return attend(x.matmul(W_query), x.matmul(W_key), x.matmul(W_value), mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = [
        run_causal_self_attention(W_query[i], W_key[i], W_value[i], in_features)
        for i in range(len(W_query))
    ]
    return torch.concat(heads, dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    mha = MultiHeadAttention(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha.forward(in_features, in_features, in_features, causal=True)


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
    mha = MultiHeadAttention(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha.forward(query, key, value, causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return sinusoidal(seq_len, d_model)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = Rope(d_k, theta, max_seq_len, in_query_or_key.device)
    return rope.forward(in_query_or_key, token_positions)


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
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    rope = Rope(d_model // num_heads, theta, max_seq_len, in_features.device)
    mha = MultiHeadAttention(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha.forward(
        in_features,
        in_features,
        in_features,
        causal=True,
        rope=rope,
        positions=token_positions.unsqueeze(-2),
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    count = 3 * d_in * d_out  # query, key, value
    if qkv_bias:
        count += 3 * d_out
    return count
