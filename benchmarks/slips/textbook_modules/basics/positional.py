"""Positions: sinusoidal encoding (Vaswani et al.) and rotary embedding (Su et al.)."""

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn


class SinusoidalEncoding(nn.Module):
    pe: Float[Tensor, "max_len d_model"]

    def __init__(self, d_model: int, max_len: int = 512):
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float32)
        even = torch.arange(0, d_model, 2, dtype=torch.float32)
        freq = 10000.0 ** (-even / d_model)
        angles = position[:, None] * freq[None, :]
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(angles)
        pe[:, 1::2] = torch.cos(angles)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, seq_len: int) -> Float[Tensor, "seq_len d_model"]:
        return self.pe[:seq_len]


class RotaryEmbedding(nn.Module):
    """RoPE with cos and sin looked up from tables of shape (max_seq_len, d_k / 2)."""

    cos: Float[Tensor, "max_seq_len half"]
    sin: Float[Tensor, "max_seq_len half"]

    def __init__(
        self,
        theta: float,
        d_k: int,
        max_seq_len: int,
        device: torch.device | None = None,
    ):
        super().__init__()
        if d_k % 2 != 0:
            raise ValueError("RoPE needs an even d_k")
        # float64 for the tables, they are cast to the dtype of x in forward
        exponents = torch.arange(0, d_k, 2, device=device, dtype=torch.float64) / d_k
        inv_freq = 1.0 / theta**exponents
        positions = torch.arange(max_seq_len, device=device, dtype=torch.float64)
        angles = torch.outer(positions, inv_freq)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(
        self,
        x: Float[Tensor, "... seq d_k"],
        token_positions: Int[Tensor, "... seq"],
    ) -> Float[Tensor, "... seq d_k"]:
        cos = self.cos[token_positions].to(x.dtype)
        sin = self.sin[token_positions].to(x.dtype)
        pairs = rearrange(x, "... (half two) -> ... half two", two=2)
        x1, x2 = pairs.unbind(dim=-1)
        rotated_1 = x1 * cos - x2 * sin
        rotated_2 = x1 * sin + x2 * cos
        rotated = torch.stack((rotated_1, rotated_2), dim=-1)
        return rearrange(rotated, "... half two -> ... (half two)")


_ROPE_TABLES: dict[tuple, RotaryEmbedding] = {}


def get_rope(
    theta: float, d_k: int, max_seq_len: int, device: torch.device | None = None
) -> RotaryEmbedding:
    """The tables are the same in every layer, so they are built once and shared."""
    key = (float(theta), d_k, max_seq_len, device)
    if key not in _ROPE_TABLES:
        _ROPE_TABLES[key] = RotaryEmbedding(theta, d_k, max_seq_len, device=device)
    return _ROPE_TABLES[key]
