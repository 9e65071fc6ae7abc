"""Positions: sinusoids and RoPE."""

import torch

from attention import attend, causal_mask, linear, merge, qkv


def frequencies(d, theta, device=None):
    """1 / theta^(2k/d), one for each pair of features."""
    even = torch.arange(0, d, 2, device=device, dtype=torch.float32)
    return 1.0 / theta ** (even / d)


def angles(d, theta, length, device=None):
    """The angle of every position (rows) in every pair (columns)."""
    steps = torch.arange(length, device=device, dtype=torch.float32)
    return torch.outer(steps, frequencies(d, theta, device))


def interleave(a, b):
    return torch.stack((a, b), dim=-1).flatten(-2)


def sinusoidal(length, d):
    a = angles(d, 10000.0, length)
    return interleave(a.sin(), a.cos())


def rotate(x, a):
    """Turns the pairs of x by the angles a."""
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    new_first = first * cos - second * sin
    new_second = first * sin + second * cos
    return interleave(new_first, new_second)


def rope(x, theta, max_len, positions):
    table = angles(x.shape[-1], theta, max_len, x.device)
    return rotate(x, table[positions])


def multihead_rope(x, w_q, w_k, w_v, w_o, heads, max_len, theta, positions=None):
    q, k, v = qkv(x, w_q, w_k, w_v, heads)
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    positions = positions.unsqueeze(-2)  # the same in all heads
    q = rope(q, theta, max_len, positions)
    k = rope(k, theta, max_len, positions)
    mask = causal_mask(x.shape[-2], x.device)
    out = attend(q, k, v, mask)
    return linear(merge(out), w_o)
