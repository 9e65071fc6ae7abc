"""Attention from scratch. CS 412, assignment 2 -- Alice Jones"""
import math

import torch


def softmax(x, dim):
    # subtract the max first, otherwise exp() blows up for big scores
    x = x - x.max(dim=dim, keepdim=True).values
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)


def causal_mask(n, device=None):
    """True where we may look (= on and below the diagonal)"""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def attention_weights(Q, K, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, dim=-1)


def attention(Q, K, V, mask=None):
    return attention_weights(Q, K, mask) @ V


def split_heads(x, num_heads):
    # (..., seq, d_model) -> (..., heads, seq, d_head)
    *rest, d_model = x.shape
    x = x.reshape(*rest, num_heads, d_model // num_heads)
    return x.transpose(-3, -2)


def merge_heads(x):
    # and back again
    x = x.transpose(-3, -2)
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def multihead_attention(num_heads, Wq, Wk, Wv, Wo, query, key, value, causal=False, rotate=None):
    q = split_heads(query @ Wq.T, num_heads)
    k = split_heads(key @ Wk.T, num_heads)
    v = split_heads(value @ Wv.T, num_heads)
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    mask = causal_mask(query.shape[-2], query.device) if causal else None
    return merge_heads(attention(q, k, v, mask)) @ Wo.T


def rope(x, positions, theta):
    """Rotate the pairs (0,1), (2,3), ... of x by position * theta^(-2k/d)."""
    d = x.shape[-1]
    k = torch.arange(0, d, 2, device=x.device, dtype=torch.float32)
    angles = positions.unsqueeze(-1) * theta ** (-k / d)  # (..., seq, d/2)
    cos = torch.cos(angles).to(x.dtype)
    sin = torch.sin(angles).to(x.dtype)
    even = x[..., 0::2]
    odd = x[..., 1::2]
    rotated = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return rotated.flatten(-2)


def sinusoidal(seq_len, d_model):
    pos = torch.arange(seq_len).unsqueeze(1)
    i = torch.arange(0, d_model, 2)
    angles = pos / 10000 ** (i / d_model)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)[:, : d_model // 2]  # one cosine fewer if d_model is odd
    return pe
