"""Thin adapters: build a config + module, call it, return. Logic lives in ops/rotary/modeling."""

from __future__ import annotations

import torch
from modeling import AttnConfig, MultiHeadAttention, ProjectedAttention, count_parameters
from ops import attend, attention_probs, build_causal_mask, dropout, stable_softmax
from rotary import RotaryEmbedding, SinusoidalEncoding
from torch import Tensor


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return stable_softmax(in_features, dim=dim)


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    return attend(in_features, in_features, in_features, scale=1.0)


def run_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    return ProjectedAttention(W_query, W_key, W_value)(in_features)


def run_causal_mask(seq_len: int) -> Tensor:
    return build_causal_mask(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    return attention_probs(Q, K, mask)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return dropout(weights, p=p, training=training)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return attend(Q, K, V, mask)


def run_causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    module = ProjectedAttention(W_query, W_key, W_value, causal=True)
    return module(in_features)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    bank = ProjectedAttention(W_query, W_key, W_value, causal=True)
    per_head = bank(in_features.unsqueeze(-3))  # (..., heads, seq, d_head)
    return torch.cat(per_head.unbind(dim=-3), dim=-1)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    cfg = AttnConfig(dim=d_model, num_heads=num_heads)
    mha = MultiHeadAttention(cfg, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features)


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
) -> Tensor:
    cfg = AttnConfig(dim=d_model, num_heads=num_heads, causal=is_causal)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return MultiHeadAttention(cfg, *weights).cross(query, key, value)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return count_parameters(d_in, d_out, qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    return SinusoidalEncoding(d_model, max_len=seq_len)(seq_len)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    rope = RotaryEmbedding(d_k, max_seq_len, base=theta).to(in_query_or_key.device)
    return rope(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    cfg = AttnConfig(dim=d_model, num_heads=num_heads, rope_base=theta, max_len=max_seq_len)
    mha = MultiHeadAttention(cfg, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features, positions=token_positions)
