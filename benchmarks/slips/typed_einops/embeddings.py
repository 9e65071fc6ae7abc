"""Where a token stands: waves that are added, and rotations of queries and keys."""

import torch
from einops import einsum, rearrange, repeat
from jaxtyping import Float, Int
from primitives import typed
from torch import Tensor


@typed
def inverse_frequencies(
    dim: int, base: float, device: torch.device | None = None
) -> Float[Tensor, "pairs"]:
    """base^(-2i/dim) for each pair i."""
    exponents = torch.arange(0, dim, 2, device=device) / dim
    return base**-exponents


@typed
def phase(
    positions: Int[Tensor, "... seq"], frequencies: Float[Tensor, "pairs"]
) -> Float[Tensor, "... seq pairs"]:
    """The angle of each position in each pair."""
    return einsum(positions.to(frequencies.dtype), frequencies, "... seq, pair -> ... seq pair")


@typed
def interleave(
    first: Float[Tensor, "*lead pairs"], second: Float[Tensor, "*lead pairs"]
) -> Float[Tensor, "*lead features"]:
    """first[0], second[0], first[1], second[1], ..."""
    return rearrange([first, second], "two ... pair -> ... (pair two)")


@typed
def sinusoidal(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    """Sines in the even features, cosines in the odd ones."""
    angles = phase(torch.arange(seq_len), inverse_frequencies(d_model, 10000.0))
    return interleave(angles.sin(), angles.cos())


@typed
def rope(
    d_k: int,
    theta: float,
    x: Float[Tensor, "... seq d_k"],
    positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    """Turn each pair of features by its phase."""
    angles = phase(positions, inverse_frequencies(d_k, theta, x.device))
    both = repeat(angles, "... seq pair -> ... seq (pair two)", two=2)
    cos, sin = both.cos().to(x.dtype), both.sin().to(x.dtype)
    even, odd = rearrange(x, "... (pair two) -> two ... pair", two=2)
    quarter_turn = interleave(-odd, even)
    return x * cos + quarter_turn * sin


@typed
class Rotation:
    """RoPE at fixed positions, as a function of queries or keys with a heads axis."""

    def __init__(
        self, d_model: int, num_heads: int, theta: float, positions: Int[Tensor, "... seq"]
    ) -> None:
        self.d_head = d_model // num_heads
        self.theta = theta
        self.positions = rearrange(positions, "... seq -> ... 1 seq")

    def __call__(self, x: Float[Tensor, "... heads seq d"]) -> Float[Tensor, "... heads seq d"]:
        return rope(self.d_head, self.theta, x, self.positions)


@typed
def rotation_for(
    d_model: int,
    num_heads: int,
    theta: float,
    x: Float[Tensor, "... seq d_model"],
    positions: Int[Tensor, "... seq"] | None,
) -> Rotation:
    """The rotation of the tokens of x, which stand at 0, 1, 2, ... if nothing else is said."""
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    return Rotation(d_model, num_heads, theta, positions)
