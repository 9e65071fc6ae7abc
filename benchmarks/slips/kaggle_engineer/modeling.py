"""Attention modules, driven by one config so that experiments are a one-line change."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from ops import attend, build_causal_mask, merge_heads, split_heads
from rotary import RotaryEmbedding
from torch import Tensor, nn


@dataclass(frozen=True)
class AttnConfig:
    dim: int
    num_heads: int = 1
    causal: bool = True
    rope_base: float | None = None  # None = no rotary embedding
    max_len: int = 2048

    @property
    def head_dim(self) -> int:
        return self.dim // self.num_heads

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5


class ProjectedAttention(nn.Module):
    """One bank of (in, out) matrices; a leading heads axis is fine (everything broadcasts)."""

    w_qkv: Tensor

    def __init__(self, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.register_buffer("w_qkv", torch.cat((w_q, w_k, w_v), dim=-1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = torch.matmul(x, self.w_qkv).chunk(3, dim=-1)
        mask = build_causal_mask(x.size(-2), x.device) if self.causal else None
        return attend(q, k, v, mask=mask)


class MultiHeadAttention(nn.Module):
    """Fused-QKV attention. Weights are buffers: nothing is trained in this assignment."""

    in_proj: Tensor
    out_proj: Tensor

    def __init__(self, cfg: AttnConfig, wq: Tensor, wk: Tensor, wv: Tensor, wo: Tensor) -> None:
        super().__init__()
        self.cfg = cfg
        self.register_buffer("in_proj", torch.cat((wq, wk, wv), dim=0))  # (3 * dim, dim)
        self.register_buffer("out_proj", wo)
        self.rope: RotaryEmbedding | None = None
        if cfg.rope_base is not None:
            self.rope = RotaryEmbedding(cfg.head_dim, cfg.max_len, base=cfg.rope_base)
            self.rope.to(wq.device)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        qkv = torch.matmul(x, self.in_proj.mT)
        qkv = qkv.unflatten(-1, (3, self.cfg.num_heads, self.cfg.head_dim))
        q, k, v = (t.transpose(-3, -2) for t in qkv.unbind(dim=-3))
        if self.rope is not None:
            q, k = self._rotate(q, k, positions)
        return self._finish(q, k, v)

    def cross(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        w_q, w_k, w_v = self.in_proj.chunk(3, dim=0)
        q = split_heads(query @ w_q.mT, self.cfg.num_heads)
        k = split_heads(key @ w_k.mT, self.cfg.num_heads)
        v = split_heads(value @ w_v.mT, self.cfg.num_heads)
        return self._finish(q, k, v)

    def _rotate(self, q: Tensor, k: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor]:
        if positions is None:
            positions = torch.arange(q.size(-2), device=q.device)
        positions = positions.unsqueeze(-2)  # broadcast over heads
        return self.rope(q, positions), self.rope(k, positions)

    def _finish(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mask = None
        if self.cfg.causal:
            mask = build_causal_mask(q.size(-2), q.device)
        ctx = attend(q, k, v, mask=mask, scale=self.cfg.scale)
        ctx = merge_heads(ctx)
        return torch.matmul(ctx, self.out_proj.mT)


def count_parameters(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    per_proj = d_in * d_out + int(qkv_bias) * d_out
    out = d_out * d_out + int(out_bias) * d_out
    return 3 * per_proj + out
