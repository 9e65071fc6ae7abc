"""
Attention building blocks.

This module provides a complete implementation of the attention mechanisms required by the
assignment:

1. Numerically stable softmax
2. Scaled dot-product attention (with optional masking and dropout)
3. Single-head self-attention
4. Multi-head attention (self- and cross-attention, optionally causal)

All modules support an arbitrary number of leading (batch) dimensions.
"""

import math
from typing import Optional

import torch
import torch.nn as nn


def stable_softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """
    Compute a numerically stable softmax.

    Args:
        x: Input tensor of any shape.
        dim: Dimension along which the softmax is computed. Defaults to the last one.

    Returns:
        Tensor of the same shape whose entries along `dim` sum to 1.
    """
    # Subtract the maximum for numerical stability (this does not change the result)
    max_values = torch.max(x, dim=dim, keepdim=True).values
    # Guard against rows that are entirely -inf
    max_values = torch.where(torch.isinf(max_values), torch.zeros_like(max_values), max_values)
    exp_x = torch.exp(x - max_values)
    # Normalize so that the values sum to 1
    sum_exp = torch.sum(exp_x, dim=dim, keepdim=True)
    return exp_x / sum_exp


def create_causal_mask(seq_len: int, device: Optional[torch.device] = None) -> torch.Tensor:
    """
    Create a causal (lower triangular) boolean mask.

    Args:
        seq_len: Length of the sequence.
        device: Device on which the mask is created.

    Returns:
        Boolean tensor of shape (seq_len, seq_len), True where attention is allowed.
    """
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
    # The strict upper triangle contains the future positions
    future = torch.triu(ones, diagonal=1)
    return ~future


class AttentionDropout(nn.Module):
    """
    Inverted dropout for attention weights.

    Args:
        p: Probability of dropping a weight. Must be in [0, 1).
    """

    def __init__(self, p: float = 0.0):
        super().__init__()
        if not 0.0 <= p < 1.0:
            raise ValueError(f"Dropout probability must be in [0, 1), got {p}")
        self.p = p

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        # Nothing to do during evaluation or if dropout is disabled
        if not self.training or self.p == 0.0:
            return weights
        # Sample a binary mask: 1 = keep, 0 = drop
        keep_prob = 1.0 - self.p
        keep_mask = torch.bernoulli(torch.full_like(weights, keep_prob))
        # Scale the survivors so that the expected value is unchanged
        return weights * keep_mask / keep_prob


class ScaledDotProductAttention(nn.Module):
    """
    Scaled dot-product attention as described in "Attention Is All You Need".

    Args:
        scale: Optional scaling factor. If None, 1 / sqrt(d_k) is used.
        dropout: Dropout probability for the attention weights.
    """

    def __init__(self, scale: Optional[float] = None, dropout: float = 0.0):
        super().__init__()
        self.scale = scale
        self.dropout = AttentionDropout(dropout)

    def compute_weights(
        self, query: torch.Tensor, key: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """Compute the attention weights of shape (..., queries, keys)."""
        # Use the provided scale or fall back to the default one
        d_k = query.size(-1)
        scale = self.scale if self.scale is not None else 1.0 / math.sqrt(d_k)

        # Step 1: Compute the attention scores
        scores = torch.matmul(query, key.transpose(-2, -1)) * scale

        # Step 2: Apply the mask (if provided)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))

        # Step 3: Convert the scores to probabilities
        return stable_softmax(scores, dim=-1)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        weights = self.compute_weights(query, key, mask=mask)
        weights = self.dropout(weights)
        # Step 4: Compute the weighted sum of the values
        return torch.matmul(weights, value)


class SelfAttentionHead(nn.Module):
    """
    A single self-attention head.

    Args:
        W_query, W_key, W_value: Optional projection matrices of shape (d_in, d_out). If they are
            not given, the input itself is used (no projection, no scaling).
        causal: Whether to prevent tokens from attending to later ones.
    """

    def __init__(
        self,
        W_query: Optional[torch.Tensor] = None,
        W_key: Optional[torch.Tensor] = None,
        W_value: Optional[torch.Tensor] = None,
        causal: bool = False,
    ):
        super().__init__()
        # Buffers move together with the module, but are not trained
        self.register_buffer("W_query", W_query)
        self.register_buffer("W_key", W_key)
        self.register_buffer("W_value", W_value)
        self.causal = causal
        # Without projections the raw dot products are used
        self.attention = ScaledDotProductAttention(scale=1.0 if W_query is None else None)

    @staticmethod
    def _project(x: torch.Tensor, weight: Optional[torch.Tensor]) -> torch.Tensor:
        """Project x if a weight is available, otherwise return it unchanged."""
        if weight is None:
            return x
        return torch.matmul(x, weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query = self._project(x, self.W_query)
        key = self._project(x, self.W_key)
        value = self._project(x, self.W_value)
        # Create the mask only if needed
        mask = None
        if self.causal:
            seq_len = x.size(-2)
            mask = create_causal_mask(seq_len, device=x.device)
        return self.attention(query, key, value, mask=mask)


class MultiHeadAttentionWrapper(nn.Module):
    """Run several independent causal heads and concatenate their outputs."""

    def __init__(self, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor):
        super().__init__()
        num_heads = W_query.size(0)
        self.heads = nn.ModuleList(
            SelfAttentionHead(W_query[h], W_key[h], W_value[h], causal=True)
            for h in range(num_heads)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        head_outputs = [head(x) for head in self.heads]
        # Concatenate along the feature dimension
        return torch.cat(head_outputs, dim=-1)


class MultiHeadAttention(nn.Module):
    """
    Multi-head attention with optional causal masking and optional rotary embeddings.

    Args:
        d_in: Number of input features.
        d_out: Number of output features. Must be divisible by num_heads.
        num_heads: Number of attention heads.
        qkv_bias: Whether the query, key and value projections have a bias.
        out_bias: Whether the output projection has a bias.
        is_causal: Whether to apply a causal mask.
        rope: Optional rotary embedding that is applied to queries and keys.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        num_heads: int = 1,
        qkv_bias: bool = False,
        out_bias: bool = False,
        is_causal: bool = True,
        rope: Optional[nn.Module] = None,
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out ({d_out}) must be divisible by num_heads ({num_heads})")
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.is_causal = is_causal
        self.rope = rope

        self.q_proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.k_proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.v_proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=out_bias)
        self.attention = ScaledDotProductAttention()

    def load_weights(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor
    ) -> "MultiHeadAttention":
        """Replace the (randomly initialized) projection weights by the given ones."""
        self.q_proj.weight = nn.Parameter(q)
        self.k_proj.weight = nn.Parameter(k)
        self.v_proj.weight = nn.Parameter(v)
        self.out_proj.weight = nn.Parameter(o)
        return self

    def _split_heads(self, x: torch.Tensor) -> torch.Tensor:
        """(..., seq, d_out) -> (..., num_heads, seq, head_dim)"""
        *batch_dims, seq_len, _ = x.shape
        x = x.reshape(*batch_dims, seq_len, self.num_heads, self.head_dim)
        return x.transpose(-3, -2)

    def _merge_heads(self, x: torch.Tensor) -> torch.Tensor:
        """(..., num_heads, seq, head_dim) -> (..., seq, d_out)"""
        *batch_dims, _, seq_len, _ = x.shape
        x = x.transpose(-3, -2).contiguous()
        return x.view(*batch_dims, seq_len, self.d_out)

    def forward(
        self,
        query: torch.Tensor,
        key: Optional[torch.Tensor] = None,
        value: Optional[torch.Tensor] = None,
        token_positions: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        # Fall back to self-attention if no key / value is provided
        key = query if key is None else key
        value = key if value is None else value

        # Step 1: Linear projections, then split into heads
        q = self._split_heads(self.q_proj(query))
        k = self._split_heads(self.k_proj(key))
        v = self._split_heads(self.v_proj(value))

        # Step 2: Apply the rotary embedding (if provided)
        if self.rope is not None:
            q = self.rope(q, token_positions)
            k = self.rope(k, token_positions)

        # Step 3: Build the causal mask (if needed)
        mask = None
        if self.is_causal:
            mask = create_causal_mask(query.size(-2), device=query.device)

        # Step 4: Attention, then merge the heads and project
        context = self.attention(q, k, v, mask=mask)
        context = self._merge_heads(context)
        return self.out_proj(context)


def count_parameters(module: nn.Module, trainable_only: bool = True) -> int:
    """Count the parameters of a module."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad or not trainable_only)
