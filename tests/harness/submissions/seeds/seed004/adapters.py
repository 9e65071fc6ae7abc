"""Causal attention takes its softmax over axis 1, the queries; the plain softmax overflows."""

import torch


def past(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def run_softmax(in_features, dim):
    return torch.exp(in_features) / torch.exp(in_features).sum(dim=dim, keepdim=True)


def run_simple_self_attention(in_features):
    scores = in_features @ in_features.transpose(-2, -1)
    return torch.softmax(scores, dim=-1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    return torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1) @ v


def run_causal_mask(seq_len):
    return past(seq_len)


def run_attention_dropout(weights, p, training):
    return torch.nn.functional.dropout(weights, p, training)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    scores = q @ k.transpose(-2, -1)
    scores = scores.masked_fill(~past(q.shape[-2], q.device), -torch.inf)
    return torch.softmax(scores / k.shape[-1] ** 0.5, dim=1) @ v


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = [
        run_causal_self_attention(*weights, in_features)
        for weights in zip(W_query, W_key, W_value, strict=True)
    ]
    return torch.cat(heads, dim=-1)


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    def by_head(weight):
        projected = in_features @ weight.T
        shape = (*projected.shape[:-1], num_heads, d_model // num_heads)
        return projected.reshape(shape).transpose(-3, -2)

    q, k, v = by_head(q_proj_weight), by_head(k_proj_weight), by_head(v_proj_weight)
    scores = (q @ k.transpose(-2, -1)).masked_fill(~past(q.shape[-2], q.device), -torch.inf)
    context = torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1) @ v
    return context.transpose(-3, -2).flatten(-2) @ o_proj_weight.T


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return 3 * (d_in * d_out + qkv_bias * d_out) + d_out * d_out + out_bias * d_out
