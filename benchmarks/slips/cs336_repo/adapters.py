from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from basics import attention, nn_utils
from basics.rope import RotaryPositionalEmbedding, sinusoidal_positional_encoding


def run_softmax(in_features: Float[Tensor, " ..."], dim: int) -> Float[Tensor, " ..."]:
    return nn_utils.softmax(in_features, dim=dim)


def run_simple_self_attention(
    in_features: Float[Tensor, " ... seq d"],
) -> Float[Tensor, " ... seq d"]:
    return attention.simple_self_attention(in_features)


def run_self_attention(
    W_query: Float[Tensor, " d_in d_out"],
    W_key: Float[Tensor, " d_in d_out"],
    W_value: Float[Tensor, " d_in d_out"],
    in_features: Float[Tensor, " ... seq d_in"],
) -> Float[Tensor, " ... seq d_out"]:
    return attention.self_attention(in_features, W_query, W_key, W_value)


def run_causal_mask(seq_len: int) -> Bool[Tensor, " seq seq"]:
    return attention.make_causal_mask(seq_len)


def run_attention_weights(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries keys"]:
    return attention.attention_weights(Q, K, mask)


def run_attention_dropout(
    weights: Float[Tensor, " ..."], p: float, training: bool
) -> Float[Tensor, " ..."]:
    return nn_utils.dropout(weights, p, training)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    V: Float[Tensor, " ... keys d_v"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries d_v"]:
    return attention.scaled_dot_product_attention(Q, K, V, mask=mask)


def run_causal_self_attention(
    W_query: Float[Tensor, " d_in d_out"],
    W_key: Float[Tensor, " d_in d_out"],
    W_value: Float[Tensor, " d_in d_out"],
    in_features: Float[Tensor, " ... seq d_in"],
) -> Float[Tensor, " ... seq d_out"]:
    return attention.self_attention(in_features, W_query, W_key, W_value, is_causal=True)


def run_multihead_attention_stacked(
    W_query: Float[Tensor, " heads d_in d_head"],
    W_key: Float[Tensor, " heads d_in d_head"],
    W_value: Float[Tensor, " heads d_in d_head"],
    in_features: Float[Tensor, " ... seq d_in"],
) -> Float[Tensor, " ... seq d_out"]:
    return attention.stacked_heads_attention(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, " d_model d_model"],
    k_proj_weight: Float[Tensor, " d_model d_model"],
    v_proj_weight: Float[Tensor, " d_model d_model"],
    o_proj_weight: Float[Tensor, " d_model d_model"],
    in_features: Float[Tensor, " ... seq d_model"],
) -> Float[Tensor, " ... seq d_model"]:
    like = {"device": in_features.device, "dtype": in_features.dtype}
    mhsa = attention.CausalMultiHeadSelfAttention(d_model, num_heads, **like)
    qkv_weight = torch.cat([q_proj_weight, k_proj_weight, v_proj_weight], dim=0)
    mhsa.load_state_dict({"qkv_proj.weight": qkv_weight, "output_proj.weight": o_proj_weight})
    return mhsa(in_features)


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, " d_model d_model"],
    k_proj_weight: Float[Tensor, " d_model d_model"],
    v_proj_weight: Float[Tensor, " d_model d_model"],
    o_proj_weight: Float[Tensor, " d_model d_model"],
    query: Float[Tensor, " ... q d_model"],
    key: Float[Tensor, " ... k d_model"],
    value: Float[Tensor, " ... k d_model"],
    is_causal: bool,
) -> Float[Tensor, " ... q d_model"]:
    like = {"device": query.device, "dtype": query.dtype}
    mha = attention.MultiHeadAttention(d_model, d_model, num_heads, **like)
    mha.load_state_dict(
        {
            "q_proj.weight": q_proj_weight,
            "k_proj.weight": k_proj_weight,
            "v_proj.weight": v_proj_weight,
            "o_proj.weight": o_proj_weight,
        }
    )
    return mha(query, key, value, is_causal=is_causal)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    mha = attention.MultiHeadAttention(
        d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias, device=torch.device("meta")
    )
    return nn_utils.count_parameters(mha)


def run_sinusoidal_positional_encoding(
    seq_len: int, d_model: int
) -> Float[Tensor, " seq d_model"]:
    return sinusoidal_positional_encoding(seq_len, d_model)


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, " ... seq d_k"],
    token_positions: Int[Tensor, " ... seq"],
) -> Float[Tensor, " ... seq d_k"]:
    x = in_query_or_key
    rope = RotaryPositionalEmbedding(theta, d_k, max_seq_len, device=x.device, dtype=x.dtype)
    return rope(x, token_positions)


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
    like = {"device": in_features.device, "dtype": in_features.dtype}
    d_head = d_model // num_heads
    rope = RotaryPositionalEmbedding(theta, d_head, max_seq_len, **like)
    mhsa = attention.CausalMultiHeadSelfAttention(d_model, num_heads, rope=rope, **like)
    weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    state = {"qkv_proj.weight": torch.cat(weights), "output_proj.weight": o_proj_weight}
    mhsa.load_state_dict(state)
    return mhsa(in_features, token_positions)
