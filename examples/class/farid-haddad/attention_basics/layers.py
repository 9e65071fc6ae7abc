"""Layers. They hold plain tensors as parameters, no nn.Linear."""

import torch
from torch import Tensor, nn

from attention_basics.nn_basics import lower_triangular, merge, scaled_dot_product_attention, split


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight, std=(2 / (d_in + d_out)) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class RoPE(nn.Module):
    def __init__(self, d_k: int, theta: float, device=None):
        super().__init__()
        k = torch.arange(d_k // 2, device=device, dtype=torch.float32)
        self.register_buffer("freqs", theta ** (-2 * k / d_k), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        ang = positions.to(self.freqs.dtype).unsqueeze(-1) * self.freqs
        c, s = torch.cos(ang), torch.sin(ang)
        out = torch.empty(x.shape, device=x.device, dtype=torch.promote_types(x.dtype, c.dtype))
        out[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
        out[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
        return out.to(x.dtype)


class MultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int, theta: float | None = None, device=None, dtype=None):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.wq = Linear(d_model, d_model, device, dtype)
        self.wk = Linear(d_model, d_model, device, dtype)
        self.wv = Linear(d_model, d_model, device, dtype)
        self.wo = Linear(d_model, d_model, device, dtype)
        self.rope = None if theta is None else RoPE(d_model // num_heads, theta, device)

    def forward(self, xq: Tensor, xkv: tuple[Tensor, Tensor], causal: bool, pos: Tensor | None = None) -> Tensor:
        xk, xv = xkv
        q, k, v = split(self.wq(xq), self.h), split(self.wk(xk), self.h), split(self.wv(xv), self.h)
        if self.rope is not None:
            if pos is None:
                pos = torch.arange(xq.shape[-2], device=xq.device)
            pos = pos.unsqueeze(-2)
            q, k = self.rope(q, pos), self.rope(k, pos)
        mask = lower_triangular(xq.shape[-2], xq.device) if causal else None
        return self.wo(merge(scaled_dot_product_attention(q, k, v, mask)))
