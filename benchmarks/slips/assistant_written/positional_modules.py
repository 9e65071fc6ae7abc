"""
Positional encodings.

Contains the sinusoidal positional encoding of the original Transformer and the rotary position
embedding (RoPE). Both precompute their tables once and store them as (non-persistent) buffers.
"""

import math
from typing import Optional

import torch
import torch.nn as nn


class SinusoidalPositionalEncoding(nn.Module):
    """
    Sinusoidal positional encoding.

    Args:
        d_model: Number of features (must be even).
        max_len: Maximum sequence length.
        base: Base of the wavelengths. Defaults to 10000.
    """

    def __init__(self, d_model: int, max_len: int = 5000, base: float = 10000.0):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        # Shape (max_len, 1) so that it broadcasts against the frequencies
        position = torch.arange(0, max_len, dtype=torch.float32).unsqueeze(1)
        # Compute the frequencies in log space
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(base) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, seq_len: int) -> torch.Tensor:
        """Return the encoding of the first `seq_len` positions."""
        return self.pe[:seq_len]


class RotaryPositionalEmbedding(nn.Module):
    """
    Rotary Position Embedding (RoPE).

    Args:
        d_k: Dimension of the queries and keys (must be even).
        theta: Base of the frequencies.
        max_seq_len: Maximum sequence length that will be used.
        device: Device on which the tables are stored.
    """

    def __init__(
        self,
        d_k: int,
        theta: float = 10000.0,
        max_seq_len: int = 2048,
        device: Optional[torch.device] = None,
    ):
        super().__init__()
        if d_k % 2 != 0:
            raise ValueError(f"d_k must be even, got {d_k}")
        self.d_k = d_k
        # Inverse frequencies: theta^(-2k / d_k) for each pair k
        inv_freq = 1.0 / (theta ** (torch.arange(0, d_k, 2, device=device).float() / d_k))
        positions = torch.arange(max_seq_len, device=device).float()
        # Shape (max_seq_len, d_k / 2)
        angles = torch.outer(positions, inv_freq)
        self.register_buffer("cos_cached", torch.cos(angles), persistent=False)
        self.register_buffer("sin_cached", torch.sin(angles), persistent=False)

    def forward(
        self, x: torch.Tensor, token_positions: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """
        Apply the rotation.

        Args:
            x: Tensor of shape (..., seq_len, d_k).
            token_positions: Optional positions of shape (..., seq_len). Defaults to 0, 1, 2, ...
        """
        if token_positions is None:
            token_positions = torch.arange(x.size(-2), device=x.device)

        # Look up the cached values and match the dtype of x
        cos = self.cos_cached[token_positions].to(x.dtype)
        sin = self.sin_cached[token_positions].to(x.dtype)

        # Separate the even and the odd features
        x_even = x[..., 0::2]
        x_odd = x[..., 1::2]

        # Apply the 2D rotation to each pair
        rotated_even = x_even * cos - x_odd * sin
        rotated_odd = x_even * sin + x_odd * cos

        # Interleave the results back to the original layout
        rotated = torch.stack([rotated_even, rotated_odd], dim=-1)
        return rotated.flatten(-2)


def expand_positions_for_heads(token_positions: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    """
    Insert a heads dimension into the token positions so that they broadcast over all heads.

    Returns None if no positions were provided.
    """
    if token_positions is None:
        return None
    return token_positions.unsqueeze(-2)
