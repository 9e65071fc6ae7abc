"""Bilal: plain functions. Softmax, attention without heads, and RoPE."""

import torch


def softmax(x, dim):
    biggest = torch.amax(x, dim=dim, keepdim=True)
    exps = torch.exp(x - biggest)
    total = torch.sum(exps, dim=dim, keepdim=True)
    return exps / total


def simple_self_attention(x):
    similarity = torch.einsum("...qd,...kd->...qk", x, x)
    attention_to = softmax(similarity, -1)
    return torch.einsum("...qk,...kd->...qd", attention_to, x)


def attention_weights(Q, K, mask=None):
    d_k = Q.shape[-1]
    scores = torch.einsum("...qd,...kd->...qk", Q, K)
    scores = scores * d_k**-0.5
    if mask is not None:
        nothing = torch.full_like(scores, float("-inf"))
        scores = torch.where(mask, scores, nothing)
    return softmax(scores, -1)


def attention(Q, K, V, mask=None):
    weights = attention_weights(Q, K, mask)
    return torch.einsum("...qk,...kv->...qv", weights, V)


def rope_frequencies(d_k, theta):
    exponents = torch.arange(0, d_k, 2, dtype=torch.float64) / d_k
    return theta**-exponents


def rope_angles(positions, frequencies):
    positions = positions.to(frequencies.dtype)
    return torch.einsum("...s,f->...sf", positions, frequencies)


def rotate(x, cos, sin):
    even = x[..., 0::2]
    odd = x[..., 1::2]
    turned_even = even * cos - odd * sin
    turned_odd = even * sin + odd * cos
    pairs = torch.stack((turned_even, turned_odd), dim=-1)
    return pairs.flatten(-2)


def rope(x, positions, d_k, theta):
    frequencies = rope_frequencies(d_k, theta).to(x.device)
    angles = rope_angles(positions, frequencies)
    cos = torch.cos(angles).to(x.dtype)
    sin = torch.sin(angles).to(x.dtype)
    return rotate(x, cos, sin)
