from beartype import BeartypeConf, beartype
from jaxtyping import Bool, Float, Int, jaxtyped
from torch import Tensor

from assignment import attention, positions, warmup

typed = jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))


@typed
def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return warmup.softmax(in_features, dim)


@typed
def run_simple_self_attention(
    in_features: Float[Tensor, "... seq d"],
) -> Float[Tensor, "... seq d"]:
    return warmup.simple_self_attention(in_features)


@typed
def run_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    return warmup.self_attention(W_query, W_key, W_value, in_features)


@typed
def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return warmup.causal_mask(seq_len)


@typed
def run_attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    return warmup.attention_weights(Q, K, mask)


@typed
def run_attention_dropout(
    weights: Float[Tensor, "..."], p: float, training: bool
) -> Float[Tensor, "..."]:
    return warmup.attention_dropout(weights, p, training)


@typed
def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    return attention.scaled_dot_product_attention(Q, K, V, mask)


@typed
def run_causal_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    return attention.causal_self_attention(W_query, W_key, W_value, in_features)


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
    return attention.multihead_self_attention(
        d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
    )


@typed
def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return attention.parameter_count(d_in, d_out, qkv_bias, out_bias)


@typed
def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    return positions.sinusoidal_positional_encoding(seq_len, d_model)


@typed
def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    return positions.rope(d_k, theta, max_seq_len, in_query_or_key, token_positions)


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
    return positions.multihead_self_attention_with_rope(
        d_model,
        num_heads,
        max_seq_len,
        theta,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
        token_positions,
    )
