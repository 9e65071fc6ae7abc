"""RoPE twice: by the book with matrices, and with a vector that is a quarter turn ahead."""

import torch


def angles(positions, d, theta):
    k = torch.arange(d // 2, device=positions.device, dtype=torch.float32)
    frequencies = torch.exp(-2.0 * k / d * torch.log(torch.tensor(theta, device=k.device)))
    return torch.einsum("...s,p->...sp", positions.float(), frequencies)


def block_diagonal(angle):
    """(..., pairs) -> (..., 2 pairs, 2 pairs): a small rotation for each pair."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    d = 2 * angle.shape[-1]
    even = torch.arange(0, d, 2)
    odd = even + 1
    matrix = torch.zeros(*angle.shape[:-1], d, d, device=angle.device)
    matrix[..., even, even] = cos
    matrix[..., even, odd] = -sin
    matrix[..., odd, even] = sin
    matrix[..., odd, odd] = cos
    return matrix


def rotate_by_matrix(x, positions, theta):
    matrix = block_diagonal(angles(positions, x.shape[-1], theta)).to(x.dtype)
    return torch.einsum("...ij,...j->...i", matrix, x)


def quarter_turn(x):
    """(a, b) -> (-b, a) for each pair."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([-odd, even], dim=-1).reshape(x.shape)


def rotate(x, positions, theta):
    angle = angles(positions, x.shape[-1], theta)
    both = angle.repeat_interleave(2, dim=-1)
    cos, sin = both.cos().to(x.dtype), both.sin().to(x.dtype)
    return x * cos + quarter_turn(x) * sin


def sinusoids(n, d):
    wave = angles(torch.arange(n), d, 10_000.0)
    interleaved = torch.empty(n, d)
    interleaved[:, 0::2] = wave.sin()
    interleaved[:, 1::2] = wave.cos()
    return interleaved
