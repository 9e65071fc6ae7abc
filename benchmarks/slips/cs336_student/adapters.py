from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor

import nn_functions as F
from model import (
    MultiHeadAttention,
    MultiHeadSelfAttention,
    RotaryPositionalEmbedding,
    StackedCausalHeads,
)


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return F.softmax(in_features, dim)


def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return F.causal_mask(seq_len)


def run_attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    return F.attention_weights(Q, K, mask)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    return F.scaled_dot_product_attention(Q, K, V, mask)


def run_causal_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    mask = F.causal_mask(in_features.shape[-2], in_features.device)
    return F.scaled_dot_product_attention(
        in_features @ W_query, in_features @ W_key, in_features @ W_value, mask
    )


def run_multihead_attention_stacked(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    layer = StackedCausalHeads(*W_query.shape, device=W_query.device, dtype=W_query.dtype)
    layer.load_state_dict({"W_query": W_query, "W_key": W_key, "W_value": W_value})
    return layer(in_features)


def _load(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight):
    layer.to(device=q_proj_weight.device, dtype=q_proj_weight.dtype)
    state_dict = {
        "q_proj.weight": q_proj_weight,
        "k_proj.weight": k_proj_weight,
        "v_proj.weight": v_proj_weight,
        "output_proj.weight": o_proj_weight,
    }
    layer.load_state_dict(state_dict)
    return layer


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
) -> Float[Tensor, "... seq d_model"]:
    mhsa = MultiHeadSelfAttention(d_model, num_heads)
    _load(mhsa, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mhsa(in_features)


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    query: Float[Tensor, "... q d_model"],
    key: Float[Tensor, "... k d_model"],
    value: Float[Tensor, "... k d_model"],
    is_causal: bool,
) -> Float[Tensor, "... q d_model"]:
    mha = MultiHeadAttention(d_model, num_heads)
    _load(mha, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(query, key, value, is_causal)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    rope = RotaryPositionalEmbedding(theta, d_k, max_seq_len, device=in_query_or_key.device)
    return rope(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
    token_positions: Int[Tensor, "... seq"] | None = None,
) -> Float[Tensor, "... seq d_model"]:
    mhsa = MultiHeadSelfAttention(
        d_model, num_heads, max_seq_len=max_seq_len, theta=theta, device=in_features.device
    )
    _load(mhsa, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mhsa(in_features, token_positions)
