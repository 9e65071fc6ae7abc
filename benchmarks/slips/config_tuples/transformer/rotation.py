import torch
from torch import Tensor

from .config import AttentionConfig


def speeds(theta: float, width: int) -> Tensor:
    """How fast each pair turns: theta^(-2k / width) for k = 0, 1, ..."""
    exponents = torch.arange(0, width, 2, dtype=torch.float64) / width
    return torch.pow(theta, exponents).reciprocal()


def wave_table(length: int, width: int) -> Tensor:
    angles = torch.outer(torch.arange(length, dtype=torch.float64), speeds(10000.0, width))
    table = torch.zeros(length, width)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def rotate(config: AttentionConfig, x: Tensor, positions: Tensor) -> Tensor:
    pair_speeds = speeds(config.theta, config.d_head).to(x.device)
    angles = positions.unsqueeze(-1) * pair_speeds
    cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x[..., ::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = left * cosines - right * sines
    out[..., 1::2] = right * cosines + left * sines
    return out
