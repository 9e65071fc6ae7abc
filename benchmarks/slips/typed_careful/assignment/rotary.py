"""Positions: sinusoids that are added, angles that are turned by."""

import math
from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .checks import require, require_even

SINUSOID_BASE: Final[float] = 10_000.0


def frequencies(width: int, base: float, *, device: torch.device | None = None) -> Float[Tensor, "pairs"]:
    require_even(width, "width")
    twice_i = torch.arange(0, width, 2, device=device, dtype=torch.float64)
    return torch.exp(-math.log(base) * twice_i / width)


def angles(positions: Int[Tensor, "... seq"], freqs: Float[Tensor, "pairs"]) -> Float[Tensor, "... seq pairs"]:
    return positions[..., None] * freqs


def interleave(even: Float[Tensor, "... n"], odd: Float[Tensor, "... n"]) -> Float[Tensor, "... 2*n"]:
    require(even.shape == odd.shape, f"{tuple(even.shape)} and {tuple(odd.shape)} differ")
    return torch.stack((even, odd), dim=-1).flatten(start_dim=-2)


def sinusoids(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    positions = torch.arange(seq_len)
    table = angles(positions, frequencies(d_model, SINUSOID_BASE))
    encoding = interleave(table.sin(), table.cos())
    assert encoding.shape == (seq_len, d_model)
    return encoding.to(torch.get_default_dtype())


def rotate(
    x: Float[Tensor, "... seq d"],
    positions: Int[Tensor, "... seq"],
    *,
    theta: float,
    max_seq_len: int,
) -> Float[Tensor, "... seq d"]:
    require(0 < max_seq_len, f"max_seq_len must be positive, is {max_seq_len}")
    require(positions.shape[-1] == x.shape[-2], "one position per vector")
    freqs = frequencies(x.shape[-1], theta, device=x.device)
    phi = angles(positions, freqs)
    cos, sin = phi.cos().to(x.dtype), phi.sin().to(x.dtype)
    even, odd = x[..., ::2], x[..., 1::2]
    return interleave(even * cos - odd * sin, even * sin + odd * cos)


def resolve_positions(
    given: Int[Tensor, "... seq"] | None, x: Float[Tensor, "... seq d"]
) -> Int[Tensor, "... seq"]:
    seq: int = x.shape[-2]
    if given is None:
        return torch.arange(seq, device=x.device)
    require(given.shape[-1] == seq, "one position per token")
    return given
