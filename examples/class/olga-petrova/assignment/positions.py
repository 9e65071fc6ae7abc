import math

import torch


def sinusoidal(seq_len, d_model):
    pe = torch.zeros(seq_len, d_model)
    pos = 0
    while pos < seq_len:
        i = 0
        while i < d_model:
            angle = pos / 10000 ** (i / d_model)
            pe[pos, i] = math.sin(angle)
            if i + 1 < d_model:
                pe[pos, i + 1] = math.cos(angle)
            i += 2
    return pe


def rope(x, positions, theta):
    """x: (..., seq, d_k), positions: (..., seq)"""
    d_k = x.shape[-1]
    k = torch.arange(d_k // 2, device=x.device)
    angle = positions.unsqueeze(-1) * (1.0 / theta ** (2 * k / d_k))
    cos = angle.cos().repeat_interleave(2, -1).to(x.dtype)
    sin = angle.sin().repeat_interleave(2, -1).to(x.dtype)
    # (x0, x1) -> (-x1, x0)
    swapped = x.unflatten(-1, (d_k // 2, 2)).flip(-1).flatten(-2)
    sign = 1 - 2 * ((torch.arange(d_k, device=x.device) + 1) % 2)  # -1, +1, -1, +1, ...
    return x * cos + swapped * sign * sin
