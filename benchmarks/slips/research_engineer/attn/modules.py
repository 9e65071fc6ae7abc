from __future__ import annotations

import torch
from torch import Tensor, nn

from attn.config import AttentionConfig
from attn.functional import (
    apply_rotary,
    attention,
    causal_mask,
    merge_heads,
    rotary_angles,
    split_heads,
)


class RotaryEmbedding(nn.Module):
    """Rotary position embedding with cosines and sines cached as buffers."""

    cos_cached: Tensor
    sin_cached: Tensor

    def __init__(
        self,
        dim: int,
        max_seq_len: int,
        theta: float = 10_000.0,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        angles = rotary_angles(dim, max_seq_len, theta, device=device, dtype=dtype)
        self.register_buffer("cos_cached", angles.cos(), persistent=False)
        self.register_buffer("sin_cached", angles.sin(), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cos = self.cos_cached[positions]
        sin = self.sin_cached[positions]
        return apply_rotary(x, cos, sin)


class SelfAttention(nn.Module):
    """Causal multi-head self-attention with a fused QKV projection, optionally with RoPE."""

    def __init__(
        self,
        config: AttentionConfig,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.num_heads = config.num_heads
        self.scale = config.head_dim**-0.5
        self.qkv_proj = nn.Linear(config.d_model, 3 * config.d_model, bias=False, **factory)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=False, **factory)
        self.rope: RotaryEmbedding | None = None
        if config.use_rope:
            self.rope = RotaryEmbedding(
                config.head_dim, config.max_seq_len, theta=config.rope_theta, **factory
            )

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        seq_len = x.size(-2)
        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        q, k, v = (split_heads(t, self.num_heads) for t in (q, k, v))
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(seq_len, device=x.device)
            positions = positions.unsqueeze(-2)  # the same for all heads
            q = self.rope(q, positions)
            k = self.rope(k, positions)
        mask = causal_mask(seq_len, device=x.device)
        context = attention(q, k, v, mask=mask, scale=self.scale)
        return self.out_proj(merge_heads(context))


class CrossAttention(nn.Module):
    """Multi-head attention from one sequence to another."""

    def __init__(
        self,
        config: AttentionConfig,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_model, factory = config.d_model, {"device": device, "dtype": dtype}
        self.num_heads = config.num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.k_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.v_proj = nn.Linear(d_model, d_model, bias=False, **factory)
        self.out_proj = nn.Linear(d_model, d_model, bias=False, **factory)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False
    ) -> Tensor:
        q = split_heads(self.q_proj(query), self.num_heads)
        k = split_heads(self.k_proj(key), self.num_heads)
        v = split_heads(self.v_proj(value), self.num_heads)
        mask = None
        if is_causal:
            mask = causal_mask(query.size(-2), device=query.device)
        out = attention(q, k, v, mask=mask)
        out = merge_heads(out)
        return self.out_proj(out)


class StackedHeads(nn.Module):
    """Independent causal heads, concatenated. `weight` is (3, heads, d_in, d_head)."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        qkv = torch.einsum("...sd,chdk->c...hsk", x, self.weight)
        q, k, v = qkv.unbind(dim=0)
        heads = attention(q, k, v, mask=causal_mask(x.shape[-2], device=x.device))
        return merge_heads(heads)
