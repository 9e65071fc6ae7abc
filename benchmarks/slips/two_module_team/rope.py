"""Rotary position embedding (Jonas). The tables are computed once, then only looked up."""

import torch


class RotaryEmbedding:
    """Holds cos and sin of every angle, (max_len, dim), each twice: once for each of a pair."""

    def __init__(self, dim, max_len=2048, base=10000.0, device=None):
        assert dim % 2 == 0, "RoPE needs an even number of features"
        self.dim = dim
        self.max_len = max_len
        self.base = base
        self._build_cache(device)

    def _build_cache(self, device):
        exponent = torch.arange(0, self.dim, 2, device=device).double() / self.dim
        inv_freq = 1.0 / self.base**exponent
        positions = torch.arange(self.max_len, device=device).double()
        angles = torch.outer(positions, inv_freq)
        angles = angles.repeat_interleave(2, dim=-1)
        self.cos_cached = angles.cos()
        self.sin_cached = angles.sin()

    @staticmethod
    def _quarter_turn(x):
        """(x0, x1, x2, x3, ...) -> (-x1, x0, -x3, x2, ...)"""
        first, second = x[..., ::2], x[..., 1::2]
        turned = torch.stack((-second, first), dim=-1)
        return turned.flatten(-2)

    def __call__(self, x, positions):
        cos = self.cos_cached[positions].to(x.dtype)
        sin = self.sin_cached[positions].to(x.dtype)
        return x * cos + self._quarter_turn(x) * sin
