"""Positions: rotary angles and the sinusoidal table."""

import math

import torch


def inverse_frequencies(dim, base, device=None):
    index = torch.arange(0, dim, 2, dtype=torch.float64, device=device)
    return base ** (-index / dim)


def outer(positions, freqs):
    return torch.einsum("...s,f->...sf", positions.to(freqs.dtype), freqs)


def angle_table(max_len, dim, base, device=None):
    positions = torch.arange(max_len, device=device)
    return outer(positions, inverse_frequencies(dim, base, device))


def take(table, positions):
    return table[positions]


def split_pairs(x):
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    return pairs[..., 0], pairs[..., 1]


def join_pairs(first, second):
    pairs = torch.stack((first, second), dim=-1)
    return pairs.flatten(start_dim=-2)


def rotate(x, angles):
    cos = torch.cos(angles).to(x.dtype)
    sin = torch.sin(angles).to(x.dtype)
    x1, x2 = split_pairs(x)
    y1 = x1 * cos - x2 * sin
    y2 = x1 * sin + x2 * cos
    return join_pairs(y1, y2)


def rotary_embedding(x, positions, dim, base, max_len):
    table = angle_table(max_len, dim, base, x.device)
    angles = take(table, positions)
    return rotate(x, angles)


def sinusoidal(length, width, max_timescale=10_000.0):
    positions = torch.arange(length, dtype=torch.float32)
    exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
    timescales = torch.exp(exponents * math.log(max_timescale))
    phases = positions[:, None] / timescales[None, :]
    return join_pairs(torch.sin(phases), torch.cos(phases))
