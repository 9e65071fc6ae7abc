"""The sinusoidal encoding counts the pairs in steps of two and doubles them again."""

import torch


def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def past(x):
    return torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).tril()


def run_simple_self_attention(in_features):
    scores = in_features @ in_features.transpose(-2, -1)
    return torch.softmax(scores, dim=-1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    return attend(in_features @ W_query, in_features @ W_key, in_features @ W_value)


def run_causal_mask(seq_len):
    return torch.ones(seq_len, seq_len).tril().bool()


def run_attention_dropout(weights, p, training):
    return torch.nn.functional.dropout(weights, p, training)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return attend(x @ W_query, x @ W_key, x @ W_value, past(x))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = [
        run_causal_self_attention(*weights, in_features)
        for weights in zip(W_query, W_key, W_value, strict=True)
    ]
    return torch.cat(heads, dim=-1)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    position = torch.arange(seq_len).unsqueeze(1)
    i = torch.arange(0, d_model, 2)
    angles = position / 10_000 ** (2 * i / d_model)
    encoding = torch.zeros(seq_len, d_model)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()[:, : d_model // 2]
    return encoding
