"""
Adapters that connect the grader to our implementation.

Each function creates the corresponding module, loads the given weights and runs the forward pass.
"""

from typing import Optional

import torch

from attention_modules import (
    AttentionDropout,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    ScaledDotProductAttention,
    SelfAttentionHead,
    count_parameters,
    create_causal_mask,
    stable_softmax,
)
from positional_modules import (
    RotaryPositionalEmbedding,
    SinusoidalPositionalEncoding,
    expand_positions_for_heads,
)


def run_softmax(in_features: torch.Tensor, dim: int) -> torch.Tensor:
    """Softmax along one dimension."""
    return stable_softmax(in_features, dim=dim)


def run_simple_self_attention(in_features: torch.Tensor) -> torch.Tensor:
    """Self-attention without trainable weights."""
    return SelfAttentionHead()(in_features)


def run_self_attention(
    W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor, in_features: torch.Tensor
) -> torch.Tensor:
    """Single-head self-attention with projections."""
    head = SelfAttentionHead(W_query, W_key, W_value)
    return head(in_features)


def run_causal_mask(seq_len: int) -> torch.Tensor:
    """Boolean causal mask."""
    return create_causal_mask(seq_len)


def run_attention_weights(
    Q: torch.Tensor, K: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """Attention weights."""
    return ScaledDotProductAttention().compute_weights(Q, K, mask)


def run_attention_dropout(weights: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    """Inverted dropout."""
    dropout = AttentionDropout(p)
    # Switch between training and evaluation mode
    dropout.train(training)
    return dropout(weights)


def run_scaled_dot_product_attention(
    Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """Scaled dot-product attention."""
    attention = ScaledDotProductAttention()
    return attention(Q, K, V, mask=mask)


def run_causal_self_attention(
    W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor, in_features: torch.Tensor
) -> torch.Tensor:
    """Single-head causal self-attention."""
    causal_head = SelfAttentionHead(W_query, W_key, W_value, causal=True)
    return causal_head(in_features)


def run_multihead_attention_stacked(
    W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor, in_features: torch.Tensor
) -> torch.Tensor:
    """Several causal heads side by side."""
    wrapper = MultiHeadAttentionWrapper(W_query, W_key, W_value)
    return wrapper(in_features)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: torch.Tensor,
    k_proj_weight: torch.Tensor,
    v_proj_weight: torch.Tensor,
    o_proj_weight: torch.Tensor,
    in_features: torch.Tensor,
) -> torch.Tensor:
    """Causal multi-head self-attention."""
    mha = MultiHeadAttention(d_model, d_model, num_heads)
    mha.load_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features)


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: torch.Tensor,
    k_proj_weight: torch.Tensor,
    v_proj_weight: torch.Tensor,
    o_proj_weight: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    is_causal: bool,
) -> torch.Tensor:
    """Multi-head attention from one sequence to another."""
    cross_mha = MultiHeadAttention(d_model, d_model, num_heads, is_causal=is_causal)
    cross_mha.load_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return cross_mha(query, key, value)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    """Number of parameters of a multi-head attention module."""
    module = MultiHeadAttention(d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias)
    return count_parameters(module)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> torch.Tensor:
    """Sinusoidal positional encoding."""
    encoding = SinusoidalPositionalEncoding(d_model, max_len=seq_len)
    return encoding(seq_len)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: torch.Tensor,
    token_positions: torch.Tensor,
) -> torch.Tensor:
    """Rotary position embedding."""
    rotary = RotaryPositionalEmbedding(d_k, theta, max_seq_len, device=in_query_or_key.device)
    return rotary(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: torch.Tensor,
    k_proj_weight: torch.Tensor,
    v_proj_weight: torch.Tensor,
    o_proj_weight: torch.Tensor,
    in_features: torch.Tensor,
    token_positions: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """Causal multi-head self-attention with RoPE."""
    rope = RotaryPositionalEmbedding(
        d_k=d_model // num_heads,
        theta=theta,
        max_seq_len=max_seq_len,
        device=in_features.device,
    )
    rope_mha = MultiHeadAttention(d_model, d_model, num_heads, rope=rope)
    rope_mha.load_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    positions = expand_positions_for_heads(token_positions)
    return rope_mha(in_features, token_positions=positions)
