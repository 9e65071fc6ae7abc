import math

import torch

import ops
from model import Attention, ModelArgs, StackedHeads, attention_scores, num_params


def as_batch(x, positions=None):
    """The model wants (bsz, seqlen, dim) and positions (bsz, seqlen)."""
    flat = x.reshape(-1, *x.shape[-2:])
    if positions is not None:
        positions = positions.expand(x.shape[:-1]).reshape(-1, x.shape[-2])
    return flat, positions


def run_softmax(in_features, dim):
    return ops.softmax(in_features, dim)


def run_simple_self_attention(in_features):
    return ops.softmax(in_features @ in_features.mT, dim=-1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    xq = in_features @ W_query
    xk = in_features @ W_key
    xv = in_features @ W_value
    return attention_scores(xq, xk) @ xv


def run_causal_mask(seq_len):
    bias = ops.causal_bias(seq_len, torch.zeros(1))
    return bias == 0


def run_attention_weights(Q, K, mask=None):
    return attention_scores(Q, K, ops.to_bias(mask, Q))


def run_attention_dropout(weights, p, training):
    if not training or p == 0.0:
        return weights.clone()
    keep = torch.empty_like(weights).bernoulli_(1 - p)
    return weights * keep / (1 - p)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    weights = attention_scores(Q, K, ops.to_bias(mask, Q))
    return weights @ V


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    xq, xk, xv = (in_features @ w for w in (W_query, W_key, W_value))
    bias = ops.causal_bias(in_features.size(-2), xq)
    return attention_scores(xq, xk, bias) @ xv


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x, _ = as_batch(in_features)
    heads = StackedHeads(W_query, W_key, W_value)
    return heads(x).view(*in_features.shape[:-1], -1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    args = ModelArgs(dim=d_model, n_heads=num_heads)
    layer = Attention(args).load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x, _ = as_batch(in_features)
    return layer(x).view(in_features.shape)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    args = ModelArgs(dim=d_model, n_heads=num_heads, causal=is_causal)
    layer = Attention(args).load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x, _ = as_batch(query)
    context, _ = as_batch(key)
    values, _ = as_batch(value)
    return layer(x, context, values).view(query.shape)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return num_params(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    position = torch.arange(seq_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angles = position * div_term
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x, positions = as_batch(in_query_or_key, token_positions)
    freqs_cis = ops.precompute_freqs_cis(d_k, max_seq_len, theta, x.device)[positions]
    x = x.unsqueeze(2)
    rotated, _ = ops.apply_rotary_emb(x, x, freqs_cis)
    return rotated.squeeze(2).view(in_query_or_key.shape)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    args = ModelArgs(
        dim=d_model,
        n_heads=num_heads,
        rope_theta=theta,
        max_seq_len=max_seq_len,
        use_rope=True,
    )
    layer = Attention(args).load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    x, positions = as_batch(in_features, token_positions)
    return layer(x, positions=positions).view(in_features.shape)
