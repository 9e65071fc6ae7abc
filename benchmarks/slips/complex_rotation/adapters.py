from __future__ import annotations

import torch
from torch import Tensor

import model


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return model.softmax(in_features, dim)


def run_causal_mask(seq_len: int) -> Tensor:
    return model.visible(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    return model.weights(Q, K, mask)


def run_scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return model.attention(Q, K, V, mask)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    return model.stacked(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    projections = model.Projections(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return model.self_attention(in_features, num_heads, projections)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    return model.sinusoidal(seq_len, d_model)


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    rotation = model.Rotation(d_k, theta, max_seq_len)
    return rotation(in_query_or_key, token_positions)


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
    projections = model.Projections(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    rotation = model.Rotation(d_model // num_heads, theta, max_seq_len)
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2])
    return model.self_attention(
        in_features, num_heads, projections, rotation, token_positions.unsqueeze(-2)
    )
