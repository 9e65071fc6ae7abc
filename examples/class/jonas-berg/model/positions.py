import torch
from torch import nn


def sinusoidal(seq_len, d_model):
    table = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    div_term = 1 / (10000 ** (torch.arange(0, d_model, 2, dtype=torch.float) / d_model))
    table[:, 0::2] = torch.sin(position * div_term)
    table[:, 1::2] = torch.cos(position * div_term[:d_model // 2])
    return table


class Rotary(nn.Module):
    def __init__(self, d_k, theta, positions):
        super().__init__()
        freqs = 1 / (theta ** (torch.arange(0, d_k, 2, device=positions.device).float() / d_k))
        angles = positions.unsqueeze(-1) * freqs
        self.register_buffer('cos', angles.cos().repeat_interleave(2, dim=-1))
        self.register_buffer('sin', angles.sin().repeat_interleave(2, dim=-1))

    def forward(self, x):
        turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
        return (x * self.cos + turned * self.sin).to(x.dtype)
