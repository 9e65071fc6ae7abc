"""Rotary position embedding as small pure functions."""

import torch
from torch import Tensor


def inverse_frequencies(
    d_k: int, *, theta: float = 10_000.0, device: torch.device | None = None
) -> Tensor:
    """theta ** (-2i / d_k) for i = 0, ..., d_k / 2 - 1"""
    evens = torch.arange(0, d_k, 2, dtype=torch.float64, device=device)
    return torch.pow(theta, torch.neg(evens) / d_k)


def rotation_angles(positions: Tensor, *, d_k: int, theta: float = 10_000.0) -> Tensor:
    """(..., seq) -> (..., seq, d_k / 2)"""
    freqs = inverse_frequencies(d_k, theta=theta, device=positions.device)
    return torch.mul(torch.unsqueeze(positions, -1), freqs)


def interleave(first: Tensor, second: Tensor) -> Tensor:
    """a0 a1 ..., b0 b1 ... -> a0 b0 a1 b1 ..."""
    return torch.flatten(torch.stack((first, second), dim=-1), start_dim=-2)


def rotate_pairs(x: Tensor, *, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair of neighbours (x0, x1) counterclockwise."""
    even, odd = x[..., 0::2], x[..., 1::2]
    turned_even = torch.sub(torch.mul(even, cos), torch.mul(odd, sin))
    turned_odd = torch.add(torch.mul(even, sin), torch.mul(odd, cos))
    return interleave(turned_even, turned_odd)


def rope(x: Tensor, *, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate the features of x by its positions."""
    angles = rotation_angles(positions, d_k=x.shape[-1], theta=theta)
    cos, sin = (f(angles).to(x.dtype) for f in (torch.cos, torch.sin))
    return rotate_pairs(x, cos=cos, sin=sin)


def default_positions(x: Tensor) -> Tensor:
    """0, 1, 2, ... along the axis of the tokens."""
    return torch.arange(x.shape[-2], device=x.device)


def for_all_heads(positions: Tensor) -> Tensor:
    """(..., seq) -> (..., 1, seq), so that the positions hold for every head."""
    return torch.unsqueeze(positions, -2)
