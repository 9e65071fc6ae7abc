"""Attention, from softmax to multi-head."""

import math

import torch


def softmax(x, dim):
    biggest = x.max(dim=dim, keepdim=True).values
    e = torch.exp(x - biggest)
    return e / e.sum(dim=dim, keepdim=True)


def causal_mask(n, device=None):
    rows = torch.arange(n, device=device).unsqueeze(1)
    cols = torch.arange(n, device=device).unsqueeze(0)
    return cols <= rows


def scores(q, k, mask=None):
    d_k = q.shape[-1]
    s = torch.matmul(q, k.transpose(-2, -1))
    s = s / math.sqrt(d_k)
    if mask is not None:
        s = torch.where(mask, s, float("-inf"))
    return s


def attend(q, k, v, mask=None):
    s = scores(q, k, mask)
    w = softmax(s, dim=-1)
    return torch.matmul(w, v)


def linear(x, weight):
    return torch.matmul(x, weight.transpose(0, 1))


def split(x, heads):
    """(..., seq, d_model) -> (..., heads, seq, d_head)"""
    seq, d_model = x.shape[-2:]
    x = x.reshape(*x.shape[:-2], seq, heads, d_model // heads)
    return x.transpose(-3, -2)


def merge(x):
    """(..., heads, seq, d_head) -> (..., seq, d_model)"""
    heads, seq, d_head = x.shape[-3:]
    x = x.transpose(-3, -2)
    return x.reshape(*x.shape[:-3], seq, heads * d_head)


def qkv(x, w_q, w_k, w_v, heads):
    q = split(linear(x, w_q), heads)
    k = split(linear(x, w_k), heads)
    v = split(linear(x, w_v), heads)
    return q, k, v


def multihead(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = qkv(x, w_q, w_k, w_v, heads)
    mask = causal_mask(x.shape[-2], x.device)
    out = merge(attend(q, k, v, mask))
    return linear(out, w_o)


def single_head(x, w_q, w_k, w_v, causal):
    q = x @ w_q
    k = x @ w_k
    v = x @ w_v
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return attend(q, k, v, mask)


def stacked(x, w_q, w_k, w_v):
    heads = []
    for h in range(w_q.shape[0]):
        heads.append(single_head(x, w_q[h], w_k[h], w_v[h], causal=True))
    return torch.cat(heads, dim=-1)


def dropout(w, p, training):
    if not training or p == 0:
        return w
    keep = torch.rand_like(w) >= p
    return w * keep / (1 - p)
