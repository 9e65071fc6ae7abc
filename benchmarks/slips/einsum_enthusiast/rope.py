"""RoPE: every pair of neighbouring features is turned by a 2x2 matrix."""

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, einsum


def frequencies(d: int, theta: float, like: Tensor) -> Float[Tensor, "p"]:
    exponents = torch.arange(0, d, 2, dtype=like.dtype, device=like.device) / d
    return theta**-exponents


def rotations(angles: Float[Tensor, "... s p"]) -> Float[Tensor, "... s p 2 2"]:
    cos, sin = torch.cos(angles), torch.sin(angles)
    top = torch.stack((cos, -sin), dim=-1)
    bottom = torch.stack((sin, cos), dim=-1)
    return torch.stack((top, bottom), dim=-2)


def apply_rope(
    x: Float[Tensor, "... s d"], positions: Int[Tensor, "... s"], theta: float = 10000.0
) -> Float[Tensor, "... s d"]:
    freqs = frequencies(x.shape[-1], theta, x)
    angles = einsum("...s,p->...sp", positions.to(freqs.dtype), freqs)
    pairs = rearrange(x, "... s (p two) -> ... s p two", two=2)
    turned = einsum("...spij,...spj->...spi", rotations(angles), pairs)
    return rearrange(turned, "... s p two -> ... s (p two)")
