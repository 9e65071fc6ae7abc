"""Where a token stands: rotary and sinusoidal encodings."""

from __future__ import annotations

import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn


class RotaryPositionalEmbedding(nn.Module):
    """RoPE with cos and sin precomputed for every position below `max_seq_len`."""

    def __init__(
        self,
        theta: float,
        d_k: int,
        max_seq_len: int,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        if d_k % 2 != 0:
            raise ValueError(f"RoPE rotates pairs, but d_k is {d_k}")
        pair_idx = torch.arange(d_k // 2, device=device, dtype=torch.float64)
        inv_freq = 1.0 / theta ** (2 * pair_idx / d_k)
        positions = torch.arange(max_seq_len, device=device, dtype=torch.float64)
        angles = einsum(positions, inv_freq, "pos, pair -> pos pair")
        self.register_buffer("cos_cached", torch.cos(angles).to(dtype), persistent=False)
        self.register_buffer("sin_cached", torch.sin(angles).to(dtype), persistent=False)

    def forward(
        self, x: Float[Tensor, " ... seq d_k"], token_positions: Int[Tensor, " ... seq"]
    ) -> Float[Tensor, " ... seq d_k"]:
        cos = self.cos_cached[token_positions]
        sin = self.sin_cached[token_positions]
        pairs = rearrange(x, "... (pair two) -> ... pair two", two=2)
        x1, x2 = pairs.unbind(dim=-1)
        x1_rot = x1 * cos - x2 * sin
        x2_rot = x1 * sin + x2 * cos
        rotated = torch.stack([x1_rot, x2_rot], dim=-1)
        return rearrange(rotated, "... pair two -> ... (pair two)")


def sinusoidal_positional_encoding(
    seq_len: int, d_model: int, base: float = 10000.0
) -> Float[Tensor, " seq d_model"]:
    """The table of "Attention Is All You Need", section 3.5."""
    pos = rearrange(torch.arange(seq_len, dtype=torch.float64), "seq -> seq 1")
    even_dims = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = pos / base ** (even_dims / d_model)
    pe = torch.zeros(seq_len, d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe
