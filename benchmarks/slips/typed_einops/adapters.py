"""Hands the contract's functions over to primitives, heads and embeddings."""

from beartype import BeartypeConf, beartype
from jaxtyping import Bool, Float, Int, jaxtyped
from torch import Tensor

import embeddings
import heads
import primitives

# An int is welcome where a float is asked for: theta=10000 is as good as theta=10000.0.
typed = jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))

# --- Warm-up ------------------------------------------------------------------------------------


@typed
def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return primitives.softmax(in_features, dim)


@typed
def run_simple_self_attention(
    in_features: Float[Tensor, "... seq d"],
) -> Float[Tensor, "... seq d"]:
    return primitives.unweighted_self_attention(in_features)


@typed
def run_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    return heads.single_head(W_query, W_key, W_value, in_features)


@typed
def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return primitives.causal_mask(seq_len)


@typed
def run_attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    return primitives.attention_weights(Q, K, mask)


@typed
def run_attention_dropout(
    weights: Float[Tensor, "..."], p: float, training: bool
) -> Float[Tensor, "..."]:
    return primitives.dropout(weights, float(p), training)


# --- Attention ----------------------------------------------------------------------------------


@typed
def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    return primitives.attend(Q, K, V, mask)


@typed
def run_causal_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    return heads.single_head(W_query, W_key, W_value, in_features, causal=True)


@typed
def run_multihead_attention_stacked(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq heads*d_head"]:
    return heads.stacked_heads(W_query, W_key, W_value, in_features)


@typed
def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
) -> Float[Tensor, "... seq d_model"]:
    return heads.self_attention(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
    )


@typed
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
    return heads.cross_attention(
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        query,
        key,
        value,
        is_causal,
    )


@typed
def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return heads.parameter_count(d_in, d_out, qkv_bias, out_bias)


# --- Positions ----------------------------------------------------------------------------------


@typed
def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    return embeddings.sinusoidal(seq_len, d_model)


@typed
def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    return embeddings.rope(d_k, float(theta), in_query_or_key, token_positions)


@typed
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
    rotate = embeddings.rotation_for(
        d_model, num_heads, float(theta), in_features, token_positions
    )
    return heads.self_attention(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features, rotate
    )
