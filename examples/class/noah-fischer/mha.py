#
#  mha.py
#  I normally write C, please excuse my Python.
#
import os
import sys
from math import sqrt

import torch


def die(message):
    print("fatal:", message, file=sys.stderr)
    sys.stderr.flush()
    os.abort()


def check(condition, message):
    if not condition:
        die(message)


def attention_weights(q, k, mask=None):
    check(q.shape[-1] == k.shape[-1], "q and k must agree in d_k")
    scores = q @ k.transpose(-2, -1)
    # in place from here on: one buffer is enough
    scores.div_(sqrt(q.shape[-1]))
    if mask is not None:
        scores.masked_fill_(~mask, float("-inf"))
    scores.sub_(scores.detach().amax(dim=-1, keepdim=True))
    scores.exp_()
    return scores / scores.sum(dim=-1, keepdim=True)


def attention(q, k, v, mask=None):
    check(k.shape[-2] == v.shape[-2], "k and v must agree in length")
    return attention_weights(q, k, mask) @ v


def causal(n, device=None):
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    rows, columns = torch.tril_indices(n, n, device=device)
    mask[rows, columns] = True
    return mask


def split(x, num_heads):
    check(x.shape[-1] % num_heads == 0, "d_model must be divisible by num_heads")
    d_head = x.shape[-1] // num_heads
    return torch.stack(torch.split(x, d_head, dim=-1), dim=-3)


def join(x):
    return torch.cat(torch.unbind(x, dim=-3), dim=-1)


def multihead(num_heads, wq, wk, wv, wo, x, rotate=None):
    q = split(x @ wq.T, num_heads)
    k = split(x @ wk.T, num_heads)
    v = split(x @ wv.T, num_heads)
    if rotate is not None:
        q = rotate(q)
        k = rotate(k)
    return join(attention(q, k, v, causal(x.shape[-2], x.device))) @ wo.T


def cross_multihead(num_heads, wq, wk, wv, wo, query, key, value, is_causal):
    d_model = query.shape[-1]
    # weights must come one block per head
    check(wq.shape == (num_heads, d_model, d_model // num_heads), "bad shape of wq")
    q = split(query @ wq.T, num_heads)
    k = split(key @ wk.T, num_heads)
    v = split(value @ wv.T, num_heads)
    mask = causal(query.shape[-2], query.device) if is_causal else None
    return join(attention(q, k, v, mask)) @ wo.T


def rope(x, positions, theta):
    check(x.shape[-1] % 2 == 0, "d_k must be even")
    exponents = torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1]
    angles = positions[..., None] / theta ** exponents
    c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    out[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
    out[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
    return out


def sinusoidal(seq_len, d_model):
    pe = torch.empty(seq_len, d_model)
    position = torch.arange(seq_len)[:, None]
    n_sin = (d_model + 1) // 2
    n_cos = d_model // 2
    pe[:, 0::2] = torch.sin(position / 10000.0 ** (2 * torch.arange(n_sin) / d_model))
    pe[:, 1::2] = torch.cos(position / 10000.0 ** (2 * torch.arange(n_cos) / d_model))
    return pe
