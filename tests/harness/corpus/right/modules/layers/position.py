"""Positions: sinusoidal table and rotary embedding."""

import math

import torch
from torch import nn


def sinusoids(seq_len, d_model):
    position = torch.arange(seq_len, dtype=torch.float32)[:, None]
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    sines = torch.sin(position * div_term)
    cosines = torch.cos(position * div_term)
    table = torch.zeros(seq_len, d_model)
    table[:, 0::2] = sines
    table[:, 1::2] = cosines
    return table


class RotaryEmbedding(nn.Module):
    """Keeps cos and sin of all positions; each angle stands twice, once for each of its pair."""

    def __init__(self, d_k, theta, max_seq_len):
        super().__init__()
        exponent = torch.arange(0, d_k, 2).float() / d_k
        inv_freq = theta**-exponent
        positions = torch.arange(max_seq_len).float()
        angles = positions[:, None] * inv_freq[None, :]
        angles = angles.repeat_interleave(2, dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    @staticmethod
    def turn(x):
        """(a, b) becomes (-b, a) in every pair."""
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((-b, a), dim=-1).flatten(-2)

    def forward(self, x, token_positions):
        cos = self.cos[token_positions]
        sin = self.sin[token_positions]
        rotated = x * cos + self.turn(x) * sin
        return rotated.to(x.dtype)
