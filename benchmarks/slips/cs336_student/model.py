"""Building blocks of the Transformer language model."""

import math

import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from nn_functions import causal_mask, scaled_dot_product_attention


class Linear(nn.Module):
    def __init__(self, in_features: int, out_features: int, device=None, dtype=None):
        super().__init__()
        weight = torch.empty(out_features, in_features, device=device, dtype=dtype)
        std = math.sqrt(2 / (in_features + out_features))
        nn.init.trunc_normal_(weight, mean=0.0, std=std, a=-3 * std, b=3 * std)
        self.weight = nn.Parameter(weight)

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        return einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")


class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        inv_freq = theta ** (-torch.arange(0, d_k, 2, device=device) / d_k)
        positions = torch.arange(max_seq_len, device=device)
        angles = einsum(positions.float(), inv_freq, "pos, half -> pos half")
        self.register_buffer("cos_cache", torch.cos(angles), persistent=False)
        self.register_buffer("sin_cache", torch.sin(angles), persistent=False)

    def forward(
        self, x: Float[Tensor, "... seq d_k"], token_positions: Int[Tensor, "... seq"]
    ) -> Float[Tensor, "... seq d_k"]:
        cos = self.cos_cache[token_positions].to(x.dtype)
        sin = self.sin_cache[token_positions].to(x.dtype)
        x_even, x_odd = rearrange(x, "... (half two) -> two ... half", two=2)
        rotated_even = x_even * cos - x_odd * sin
        rotated_odd = x_even * sin + x_odd * cos
        rotated = torch.stack([rotated_even, rotated_odd], dim=-1)
        return rearrange(rotated, "... half two -> ... (half two)")


class MultiHeadSelfAttention(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        max_seq_len: int | None = None,
        theta: float | None = None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.d_head = d_model // num_heads

        self.q_proj = Linear(d_model, d_model, device=device, dtype=dtype)
        self.k_proj = Linear(d_model, d_model, device=device, dtype=dtype)
        self.v_proj = Linear(d_model, d_model, device=device, dtype=dtype)
        self.output_proj = Linear(d_model, d_model, device=device, dtype=dtype)

        self.rope = None
        if theta is not None:
            self.rope = RotaryPositionalEmbedding(theta, self.d_head, max_seq_len, device=device)

    def split_heads(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... h seq d_head"]:
        return rearrange(x, "... seq (h d_head) -> ... h seq d_head", h=self.num_heads)

    def merge_heads(self, x: Float[Tensor, "... h seq d_head"]) -> Float[Tensor, "... seq d_model"]:
        return rearrange(x, "... h seq d_head -> ... seq (h d_head)")

    def forward(
        self,
        x: Float[Tensor, "... seq d_model"],
        token_positions: Int[Tensor, "... seq"] | None = None,
    ) -> Float[Tensor, "... seq d_model"]:
        seq_len = x.shape[-2]
        q = self.split_heads(self.q_proj(x))
        k = self.split_heads(self.k_proj(x))
        v = self.split_heads(self.v_proj(x))

        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(seq_len, device=x.device)
            # one more axis, for the heads
            token_positions = rearrange(token_positions, "... seq -> ... 1 seq")
            q = self.rope(q, token_positions)
            k = self.rope(k, token_positions)

        mask = causal_mask(seq_len, device=x.device)
        context = scaled_dot_product_attention(q, k, v, mask)
        return self.output_proj(self.merge_heads(context))


class MultiHeadAttention(MultiHeadSelfAttention):
    """Same weights, but queries and keys/values may come from different sequences."""

    def forward(
        self,
        query: Float[Tensor, "... q d_model"],
        key: Float[Tensor, "... k d_model"],
        value: Float[Tensor, "... k d_model"],
        is_causal: bool = False,
    ) -> Float[Tensor, "... q d_model"]:
        Q = self.split_heads(self.q_proj(query))
        K = self.split_heads(self.k_proj(key))
        V = self.split_heads(self.v_proj(value))
        mask = causal_mask(query.shape[-2], device=query.device) if is_causal else None
        out = scaled_dot_product_attention(Q, K, V, mask)
        return self.output_proj(self.merge_heads(out))


class StackedCausalHeads(nn.Module):
    """Heads with their own (d_in, d_head) matrices and no output projection."""

    def __init__(self, num_heads: int, d_in: int, d_head: int, device=None, dtype=None):
        super().__init__()
        shape = (num_heads, d_in, d_head)
        self.W_query = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.W_key = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.W_value = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

    def forward(self, x: Float[Tensor, "... seq d_in"]) -> Float[Tensor, "... seq d_out"]:
        pattern = "... seq d_in, h d_in d_head -> ... h seq d_head"
        queries = einsum(x, self.W_query, pattern)
        keys = einsum(x, self.W_key, pattern)
        values = einsum(x, self.W_value, pattern)
        heads = scaled_dot_product_attention(queries, keys, values, causal_mask(x.shape[-2], x.device))
        return rearrange(heads, "... heads seq d -> ... seq (heads d)")
