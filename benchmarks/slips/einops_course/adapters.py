from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from basics import functional
from basics.modules import (
    CausalMultiHeadSelfAttention,
    RotaryPositionalEmbedding,
    SinusoidalEncoding,
)


def run_softmax(in_features: Float[Tensor, " ..."], dim: int) -> Float[Tensor, " ..."]:
    return functional.softmax(in_features, dim)


def run_simple_self_attention(
    in_features: Float[Tensor, "... seq d"],
) -> Float[Tensor, "... seq d"]:
    x = in_features
    similarity = functional.einsum(x, x, "... i d, ... j d -> ... i j")
    shares = functional.softmax(similarity, dim=-1)
    return functional.einsum(shares, x, "... i j, ... j d -> ... i d")


def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return functional.causal_mask(seq_len)


def run_attention_weights(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries keys"]:
    return functional.attention_probabilities(Q, K, mask)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    V: Float[Tensor, " ... keys d_v"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries d_v"]:
    return functional.scaled_dot_product_attention(Q, K, V, mask)


def run_multihead_attention_stacked(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    return functional.stacked_heads(W_query, W_key, W_value, in_features)


def attention_module(num_heads, weights, like, rope=None) -> CausalMultiHeadSelfAttention:
    """The module with the weights that the tests bring along."""
    d_model = like.shape[-1]
    module = CausalMultiHeadSelfAttention(d_model, num_heads, rope, like.device, like.dtype)
    projections = (module.q_proj, module.k_proj, module.v_proj, module.output_proj)
    for projection, weight in zip(projections, weights, strict=True):
        projection.weight.data = weight
    return module


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, " d_model d_model"],
    k_proj_weight: Float[Tensor, " d_model d_model"],
    v_proj_weight: Float[Tensor, " d_model d_model"],
    o_proj_weight: Float[Tensor, " d_model d_model"],
    in_features: Float[Tensor, " ... seq d_model"],
) -> Float[Tensor, " ... seq d_model"]:
    weights = [q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight]
    module = attention_module(num_heads, weights, like=in_features)
    return module(in_features)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, " d_model d_model"],
    k_proj_weight: Float[Tensor, " d_model d_model"],
    v_proj_weight: Float[Tensor, " d_model d_model"],
    o_proj_weight: Float[Tensor, " d_model d_model"],
    in_features: Float[Tensor, " ... seq d_model"],
    token_positions: Int[Tensor, " ... seq"] | None = None,
) -> Float[Tensor, " ... seq d_model"]:
    d_head = d_model // num_heads
    rope = RotaryPositionalEmbedding(theta, d_head, max_seq_len, in_features.device)
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    module = attention_module(num_heads, weights, in_features, rope)
    return module(in_features, token_positions)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, " ... seq d_k"],
    token_positions: Int[Tensor, " ... seq"],
) -> Float[Tensor, " ... seq d_k"]:
    rope = RotaryPositionalEmbedding(theta, d_k, max_seq_len, in_query_or_key.device)
    return rope(in_query_or_key, token_positions)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    with torch.no_grad():
        return SinusoidalEncoding(d_model)(seq_len)
