"""Adapters: they only translate between the contract and our classes."""

import torch

from layers import (
    MultiHeadAttention,
    ProjectionWeights,
    ScaledDotProductAttention,
    SingleHead,
    SoftmaxFunction,
    StackedHeads,
)
from masks import AttentionMask
from rotary import RotaryPositionEmbedding


def run_softmax(in_features, dim):
    return SoftmaxFunction(axis=dim).apply(in_features)


def run_causal_mask(seq_len):
    return AttentionMask.create_causal(seq_len).get_allowed_positions()


def run_attention_weights(Q, K, mask=None):
    return ScaledDotProductAttention.with_mask(mask).compute_weights(Q, K)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return ScaledDotProductAttention.with_mask(mask).forward(Q, K, V)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return SingleHead(W_query, W_key, W_value).forward(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return StackedHeads.from_stacked_weights(W_query, W_key, W_value).forward(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = ProjectionWeights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    layer = MultiHeadAttention(d_model, num_heads, weights)
    return layer.forward(in_features, in_features, in_features, is_causal=True)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    projection_weights = ProjectionWeights(
        q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    layer = MultiHeadAttention(d_model, num_heads, projection_weights)
    return layer.forward(query, key, value, is_causal)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rotary_embedding = RotaryPositionEmbedding.create(
        d_k, max_seq_len, base=theta, device=in_query_or_key.device
    )
    return rotary_embedding.rotate(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    head_dimension = d_model // num_heads
    rotary = RotaryPositionEmbedding.create(
        head_dimension, max_seq_len, base=theta, device=in_features.device
    )
    four_weights = ProjectionWeights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    attention_layer = MultiHeadAttention(d_model, num_heads, four_weights, rotary)
    return attention_layer.forward(
        in_features, in_features, in_features, is_causal=True, token_positions=token_positions
    )
