"""Attention layers.

Everything is a small class that can be configured once and called often.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


class Attention:
    """Scaled dot-product attention: softmax(Q K^T / sqrt(d_k)) V."""

    BLOCKED = float("-inf")

    def __init__(self, causal: bool = False, scaled: bool = True) -> None:
        self.causal = causal
        self.scaled = scaled

    @staticmethod
    def softmax(x: Tensor, dim: int = -1) -> Tensor:
        highest = x.max(dim=dim, keepdim=True).values
        exponentials = torch.exp(x - highest)
        total = exponentials.sum(dim=dim, keepdim=True)
        return exponentials / total

    @staticmethod
    def causal_mask(size: int, device: torch.device | None = None) -> Tensor:
        """Lower triangle: True where a row may look at a column."""
        everything = torch.ones(size, size, dtype=torch.bool, device=device)
        return torch.tril(everything)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        raw = torch.matmul(queries, keys.transpose(-2, -1))
        if not self.scaled:
            return raw
        d_k = keys.size(-1)
        return raw / math.sqrt(d_k)

    def weights(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = self.scores(queries, keys)
        if self.causal:
            mask = self.causal_mask(queries.size(-2), queries.device)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), self.BLOCKED)
        return self.softmax(scores)

    def __call__(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        weights = self.weights(queries, keys, mask)
        return torch.matmul(weights, values)


class Head:
    """One attention head with its own three matrices, which multiply from the right."""

    def __init__(self, query: Tensor, key: Tensor, value: Tensor, causal: bool = True) -> None:
        self.query = query
        self.key = key
        self.value = value
        self.attention = Attention(causal=causal)

    @classmethod
    def stack(cls, queries: Tensor, keys: Tensor, values: Tensor) -> list[Head]:
        """One head for each entry along the first axis."""
        return [cls(queries[i], keys[i], values[i]) for i in range(queries.size(0))]

    def __call__(self, x: Tensor) -> Tensor:
        queries = x @ self.query
        keys = x @ self.key
        values = x @ self.value
        return self.attention(queries, keys, values)


class RotaryEmbedding:
    """Turns the feature pairs (0, 1), (2, 3), ... by an angle that grows with the position."""

    _instances: dict[tuple, RotaryEmbedding] = {}

    def __init__(self, dim: int, max_seq_len: int, theta: float = 10_000.0) -> None:
        self.dim = dim
        self.max_seq_len = max_seq_len
        self.theta = theta
        angles = self.build_angles()
        self.cos = angles.cos()
        self.sin = angles.sin()

    @classmethod
    def shared(cls, dim: int, max_seq_len: int, theta: float) -> RotaryEmbedding:
        """The tables are always the same for the same settings, so keep them."""
        settings = (dim, max_seq_len, theta)
        if settings not in cls._instances:
            cls._instances[settings] = cls(dim, max_seq_len, theta)
        return cls._instances[settings]

    @property
    def frequencies(self) -> Tensor:
        even = torch.arange(0, self.dim, 2, dtype=torch.float64)
        return 1.0 / self.theta ** (even / self.dim)

    def build_angles(self) -> Tensor:
        positions = torch.arange(self.max_seq_len, dtype=torch.float64)
        return torch.outer(positions, self.frequencies)

    def lookup(self, positions: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
        cos = self.cos.to(like)
        sin = self.sin.to(like)
        return cos[positions], sin[positions]

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.lookup(positions, x)
        first = x[..., 0::2]
        second = x[..., 1::2]
        new_first = first * cos - second * sin
        new_second = first * sin + second * cos
        return torch.stack((new_first, new_second), dim=-1).flatten(start_dim=-2)


class MultiHead:
    """Multi-head attention with projections like those of torch.nn.Linear."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        weights: dict[str, Tensor],
        causal: bool = True,
        rotary: RotaryEmbedding | None = None,
    ) -> None:
        self.d_model = d_model
        self.num_heads = num_heads
        self.weights = weights
        self.rotary = rotary
        self.attention = Attention(causal=causal)

    @classmethod
    def with_rope(
        cls,
        d_model: int,
        num_heads: int,
        weights: dict[str, Tensor],
        max_seq_len: int,
        theta: float = 10_000.0,
    ) -> MultiHead:
        head_dim = d_model // num_heads
        rotary = RotaryEmbedding.shared(head_dim, max_seq_len, theta)
        return cls(d_model, num_heads, weights, rotary=rotary)

    @staticmethod
    def count_parameters(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
        projections = 3 * d_in * d_out + d_out * d_out
        biases = 3 * d_out * qkv_bias + d_out * out_bias
        return projections + biases

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads

    def project(self, x: Tensor, name: str) -> Tensor:
        return x @ self.weights[name].T

    def split(self, x: Tensor) -> Tensor:
        """(..., seq, d_model) -> (..., heads, seq, head_dim)"""
        heads = x.reshape(*x.shape[:-1], self.num_heads, self.head_dim)
        return heads.transpose(-3, -2)

    def merge(self, heads: Tensor) -> Tensor:
        """(..., heads, seq, head_dim) -> (..., seq, d_model)"""
        tokens = heads.transpose(-3, -2)
        return tokens.reshape(*tokens.shape[:-2], self.d_model)

    def rotate(self, heads: Tensor, positions: Tensor | None) -> Tensor:
        if self.rotary is None:
            return heads
        if positions is None:
            positions = torch.arange(heads.size(-2), device=heads.device)
        return self.rotary(heads, positions.unsqueeze(-2))

    def __call__(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        key = query if key is None else key
        value = key if value is None else value
        queries = self.split(self.project(query, "q"))
        keys = self.split(self.project(key, "k"))
        values = self.split(self.project(value, "v"))
        queries = self.rotate(queries, positions)
        keys = self.rotate(keys, positions)
        context = self.merge(self.attention(queries, keys, values))
        return self.project(context, "o")
