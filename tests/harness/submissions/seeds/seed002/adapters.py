"""Causal attention hands over masked scores where a mask belongs, so nothing is masked."""

import torch


def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def run_attention_weights(Q, K, mask=None):
    _, weights = attention(Q, K, K, mask)
    return weights


def run_attention_dropout(weights, p, training):
    return torch.nn.functional.dropout(weights, p, training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    context, _ = attention(Q, K, V, mask)
    return context


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    length = in_features.shape[-2]
    past = torch.ones(length, length, device=in_features.device).tril()
    masked_scores = (q @ k.transpose(-2, -1)).masked_fill(past == 0, float("-inf"))
    context, _ = attention(q, k, v, masked_scores)
    return context
