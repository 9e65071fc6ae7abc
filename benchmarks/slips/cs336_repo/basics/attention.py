"""Scaled dot-product attention, and the modules that use it."""

from __future__ import annotations

import math

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .nn_utils import Linear, softmax
from .rope import RotaryPositionalEmbedding


def make_causal_mask(
    seq_len: int, device: torch.device | None = None
) -> Bool[Tensor, " seq seq"]:
    """True where attention is allowed: on and below the diagonal."""
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
    return torch.tril(ones)


def attention_weights(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries keys"]:
    d_k = Q.shape[-1]
    scores = einsum(Q, K, "... queries d_k, ... keys d_k -> ... queries keys")
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    return softmax(scores, dim=-1)


def scaled_dot_product_attention(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    V: Float[Tensor, " ... keys d_v"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries d_v"]:
    probs = attention_weights(Q, K, mask)
    return einsum(probs, V, "... queries keys, ... keys d_v -> ... queries d_v")


def simple_self_attention(x: Float[Tensor, " ... seq d"]) -> Float[Tensor, " ... seq d"]:
    similarity = einsum(x, x, "... i d, ... j d -> ... i j")
    weights = softmax(similarity, dim=-1)
    return einsum(weights, x, "... i j, ... j d -> ... i d")


def self_attention(
    x: Float[Tensor, " ... seq d_in"],
    W_query: Float[Tensor, " d_in d_out"],
    W_key: Float[Tensor, " d_in d_out"],
    W_value: Float[Tensor, " d_in d_out"],
    is_causal: bool = False,
) -> Float[Tensor, " ... seq d_out"]:
    queries = einsum(x, W_query, "... d_in, d_in d_out -> ... d_out")
    keys = einsum(x, W_key, "... d_in, d_in d_out -> ... d_out")
    values = einsum(x, W_value, "... d_in, d_in d_out -> ... d_out")
    mask = make_causal_mask(x.shape[-2], x.device) if is_causal else None
    return scaled_dot_product_attention(queries, keys, values, mask)


def stacked_heads_attention(
    x: Float[Tensor, " ... seq d_in"],
    W_query: Float[Tensor, " heads d_in d_head"],
    W_key: Float[Tensor, " heads d_in d_head"],
    W_value: Float[Tensor, " heads d_in d_head"],
) -> Float[Tensor, " ... seq d_out"]:
    per_head = "... seq d_in, heads d_in d_head -> ... heads seq d_head"
    q_heads = einsum(x, W_query, per_head)
    k_heads = einsum(x, W_key, per_head)
    v_heads = einsum(x, W_value, per_head)
    causal = make_causal_mask(x.shape[-2], device=x.device)
    context = scaled_dot_product_attention(q_heads, k_heads, v_heads, causal)
    return rearrange(context, "... heads seq d_head -> ... seq (heads d_head)")


class CausalMultiHeadSelfAttention(nn.Module):
    """Causal self-attention with one fused projection to queries, keys and values."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope: RotaryPositionalEmbedding | None = None,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.num_heads = num_heads
        self.rope = rope
        self.qkv_proj = Linear(d_model, 3 * d_model, device=device, dtype=dtype)
        self.output_proj = Linear(d_model, d_model, device=device, dtype=dtype)

    def forward(
        self,
        x: Float[Tensor, " ... seq d_model"],
        token_positions: Int[Tensor, " ... seq"] | None = None,
    ) -> Float[Tensor, " ... seq d_model"]:
        seq_len = x.shape[-2]
        Q, K, V = self.qkv_proj(x).chunk(3, dim=-1)
        Q = rearrange(Q, "... seq (h d_h) -> ... h seq d_h", h=self.num_heads)
        K = rearrange(K, "... seq (h d_h) -> ... h seq d_h", h=self.num_heads)
        V = rearrange(V, "... seq (h d_h) -> ... h seq d_h", h=self.num_heads)

        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(seq_len, device=x.device)
            head_positions = rearrange(token_positions, "... seq -> ... 1 seq")
            Q = self.rope(Q, head_positions)
            K = self.rope(K, head_positions)

        mask = make_causal_mask(seq_len, x.device)
        attn_out = scaled_dot_product_attention(Q, K, V, mask)
        attn_out = rearrange(attn_out, "... h seq d_h -> ... seq (h d_h)")
        return self.output_proj(attn_out)


class MultiHeadAttention(nn.Module):
    """Attention from one sequence to another, with four projections of its own."""

    def __init__(
        self,
        d_in: int,
        d_out: int,
        num_heads: int = 1,
        qkv_bias: bool = False,
        out_bias: bool = False,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.num_heads = num_heads
        self.q_proj = Linear(d_in, d_out, bias=qkv_bias, **factory_kwargs)
        self.k_proj = Linear(d_in, d_out, bias=qkv_bias, **factory_kwargs)
        self.v_proj = Linear(d_in, d_out, bias=qkv_bias, **factory_kwargs)
        self.o_proj = Linear(d_out, d_out, bias=out_bias, **factory_kwargs)

    def split_heads(self, t: Float[Tensor, " ... n d_out"]) -> Float[Tensor, " ... h n d_h"]:
        return rearrange(t, "... n (h d_h) -> ... h n d_h", h=self.num_heads)

    def forward(
        self,
        query: Float[Tensor, " ... q d_in"],
        key: Float[Tensor, " ... k d_in"],
        value: Float[Tensor, " ... k d_in"],
        is_causal: bool = False,
    ) -> Float[Tensor, " ... q d_out"]:
        Q = self.split_heads(self.q_proj(query))
        K = self.split_heads(self.k_proj(key))
        V = self.split_heads(self.v_proj(value))
        mask = make_causal_mask(query.shape[-2], query.device) if is_causal else None
        heads = scaled_dot_product_attention(Q, K, V, mask)
        merged = rearrange(heads, "... h n d_h -> ... n (h d_h)")
        return self.o_proj(merged)
