import math

import torch
from einops import einsum, rearrange
from torch import Tensor, nn


class Linear(nn.Module):
    def __init__(
        self,
        in_features: int,
        out_features: int,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        std = math.sqrt(2 / (in_features + out_features))
        nn.init.trunc_normal_(self.weight, mean=0.0, std=std, a=-3 * std, b=3 * std)

    def forward(self, x: Tensor) -> Tensor:
        return einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")


class RotaryPositionalEmbedding(nn.Module):
    """RoPE with the cos and sin of every position below max_seq_len cached in buffers."""

    def __init__(
        self,
        theta: float,
        d_k: int,
        max_seq_len: int,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        self.d_k = d_k
        # angles in double, bf16 positions are useless beyond 256
        exponent = torch.arange(0, d_k, 2, device=device, dtype=torch.float64) / d_k
        inv_freq = 1.0 / (theta**exponent)
        pos = torch.arange(max_seq_len, device=device, dtype=torch.float64)
        angles = torch.outer(pos, inv_freq)  # (max_seq_len, d_k / 2)
        self.register_buffer("cos_cached", angles.cos().to(dtype), persistent=False)
        self.register_buffer("sin_cached", angles.sin().to(dtype), persistent=False)

    def forward(self, x: Tensor, token_positions: Tensor) -> Tensor:
        cos = self.cos_cached[token_positions]
        sin = self.sin_cached[token_positions]
        x_pairs = rearrange(x, "... (pairs two) -> ... pairs two", two=2)
        x_even, x_odd = x_pairs.unbind(dim=-1)
        out_even = x_even * cos - x_odd * sin
        out_odd = x_even * sin + x_odd * cos
        out = torch.stack((out_even, out_odd), dim=-1)
        return rearrange(out, "... pairs two -> ... (pairs two)")


class SinusoidalPositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_len: int):
        super().__init__()
        pos = torch.arange(max_seq_len).unsqueeze(1)
        two_i = torch.arange(0, d_model, 2)
        div_term = torch.exp(two_i * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_seq_len, d_model)
        pe[:, 0::2] = torch.sin(pos * div_term)
        pe[:, 1::2] = torch.cos(pos * div_term)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, seq_len: int) -> Tensor:
        return self.pe[:seq_len]
