"""Position modules with precomputed, non-persistent buffers."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def inverse_frequencies(dim: int, base: float) -> Tensor:
    exponents = torch.arange(0, dim, 2, dtype=torch.float64) / dim
    return 1.0 / (base**exponents)


class SinusoidalEncoding(nn.Module):
    pe: Tensor

    def __init__(self, dim: int, max_len: int, base: float = 10_000.0) -> None:
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float64).unsqueeze(1)
        angles = position * inverse_frequencies(dim, base)
        pe = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, length: int) -> Tensor:
        return self.pe[:length].to(torch.get_default_dtype())


def rotate_pairs(x: Tensor) -> Tensor:
    """(x0, x1, x2, x3, ...) -> (-x1, x0, -x3, x2, ...)"""
    even, odd = x.unflatten(-1, (-1, 2)).unbind(dim=-1)
    return torch.stack((-odd, even), dim=-1).flatten(-2)


class RotaryEmbedding(nn.Module):
    cos: Tensor
    sin: Tensor

    def __init__(self, dim: int, max_len: int, base: float = 10_000.0) -> None:
        super().__init__()
        steps = torch.arange(max_len, dtype=torch.float64)
        freqs = torch.outer(steps, inverse_frequencies(dim, base))
        freqs = freqs.repeat_interleave(2, dim=-1)
        self.register_buffer("cos", freqs.cos(), persistent=False)
        self.register_buffer("sin", freqs.sin(), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cos = self.cos[positions].to(x.dtype)
        sin = self.sin[positions].to(x.dtype)
        return x * cos + rotate_pairs(x) * sin
