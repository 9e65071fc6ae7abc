"""RoPE as a multiplication of complex numbers.

A pair (a, b) is the number a + ib, and rotating it by an angle φ is multiplying it by e^{iφ}.
"""

from functools import lru_cache

import torch


@lru_cache(maxsize=32)
def rotations(d_k, theta, max_seq_len, device):
    """e^{iφ} for every position and pair: complex64 (max_seq_len, d_k / 2)."""
    ω = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=device) / d_k)
    φ = torch.outer(torch.arange(max_seq_len, dtype=torch.float64, device=device), ω)
    return torch.polar(torch.ones_like(φ), φ).to(torch.complex64)


def apply_rope(x, positions, theta, max_seq_len):
    # there are no complex bfloat16 numbers, so small floats take the road over float32
    real = x if x.dtype == torch.float64 else x.float()
    z = torch.complex(real[..., 0::2], real[..., 1::2])
    z = z * rotations(x.shape[-1], theta, max_seq_len, x.device)[positions]
    return torch.view_as_real(z).flatten(-2).to(x.dtype)
