import torch
from torch import nn


def attention_weights(Q, K, mask=None):
    scores = Q @ K.transpose(-2, -1)
    scores = scores / Q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float('-inf'))
    return scores.softmax(dim=-1)


def attention(Q, K, V, mask=None):
    return attention_weights(Q, K, mask) @ V


def causal(x):
    n = x.size(-2)
    return torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
