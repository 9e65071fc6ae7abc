"""Adapters: build a module, copy the weights into it, call it."""

from __future__ import annotations

import torch
from torch import Tensor

import attn.functional as AF
from attn import AttentionConfig, CrossAttention, RotaryEmbedding, SelfAttention, StackedHeads


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return AF.softmax(in_features, dim=dim)


def run_causal_mask(seq_len: int) -> Tensor:
    return AF.causal_mask(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    return AF.attention_weights(Q, K, mask=mask)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return AF.attention(Q, K, V, mask=mask)


def run_causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    weight = torch.stack((W_query, W_key, W_value)).unsqueeze(1)
    return StackedHeads(weight)(in_features)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    layer = StackedHeads(torch.stack((W_query, W_key, W_value), dim=0))
    return layer(in_features)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    config = AttentionConfig(d_model=d_model, num_heads=num_heads)
    layer = SelfAttention(config, device=in_features.device, dtype=in_features.dtype)
    with torch.no_grad():
        layer.qkv_proj.weight.copy_(torch.cat((q_proj_weight, k_proj_weight, v_proj_weight)))
        layer.out_proj.weight.copy_(o_proj_weight)
    return layer(in_features)


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
    config = AttentionConfig(d_model=d_model, num_heads=num_heads)
    cross = CrossAttention(config, device=query.device, dtype=query.dtype)
    with torch.no_grad():
        cross.q_proj.weight.copy_(q_proj_weight)
        cross.k_proj.weight.copy_(k_proj_weight)
        cross.v_proj.weight.copy_(v_proj_weight)
        cross.out_proj.weight.copy_(o_proj_weight)
    return cross(query, key, value, is_causal=is_causal)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    x = in_query_or_key
    rope = RotaryEmbedding(d_k, max_seq_len, theta=theta, device=x.device, dtype=x.dtype)
    return rope(x, token_positions)


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
    config = AttentionConfig(d_model, num_heads, max_seq_len=max_seq_len, rope_theta=theta)
    attn = SelfAttention(config, device=in_features.device, dtype=in_features.dtype)
    state = {
        "qkv_proj.weight": torch.cat((q_proj_weight, k_proj_weight, v_proj_weight), dim=0),
        "out_proj.weight": o_proj_weight,
    }
    attn.load_state_dict(state)
    return attn(in_features, token_positions)
