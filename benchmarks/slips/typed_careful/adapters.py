"""Hands over to the package `assignment`; no arithmetic here."""

from functools import partial

from jaxtyping import Bool, Float, Int
from torch import Tensor

from assignment import heads, kernels, rotary
from assignment.heads import Projections


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return kernels.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features: Float[Tensor, "... seq d"]) -> Float[Tensor, "... seq d"]:
    shares = kernels.softmax(kernels.similarity(in_features, in_features), dim=-1)
    return shares @ in_features


def run_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Float[Tensor, "... seq d_out"]:
    qkv = heads.project_right(in_features, W_query, W_key, W_value)
    return heads.single_head(qkv, causal=False)


def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return kernels.causal_mask(seq_len)


def run_attention_weights(
    Q: Tensor, K: Tensor, mask: Bool[Tensor, "... queries keys"] | None = None
) -> Float[Tensor, "... queries keys"]:
    return kernels.weights(Q, K, mask)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return kernels.dropout(weights, p=p, training=training)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Bool[Tensor, "... queries keys"] | None = None
) -> Float[Tensor, "... queries d_v"]:
    return kernels.attend(Q, K, V, mask)


def run_causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Float[Tensor, "... seq d_out"]:
    qkv = heads.project_right(in_features, W_query, W_key, W_value)
    return heads.single_head(qkv, causal=True)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    return heads.stacked_heads(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Float[Tensor, "... seq d_model"]:
    w = Projections(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return heads.multihead(in_features, in_features, in_features, w, heads=num_heads, causal=True)


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
) -> Float[Tensor, "... q d_model"]:
    w = Projections(
        query=q_proj_weight,
        key=k_proj_weight,
        value=v_proj_weight,
        output=o_proj_weight,
    )
    return heads.multihead(query, key, value, w, heads=num_heads, causal=is_causal)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return heads.count_parameters(d_in, d_out, qkv_bias=qkv_bias, out_bias=out_bias)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    return rotary.sinusoids(seq_len, d_model)


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Float[Tensor, "... seq d_k"]:
    return rotary.rotate(in_query_or_key, token_positions, theta=theta, max_seq_len=max_seq_len)


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
    token_positions: Int[Tensor, "... seq"] | None = None,
) -> Float[Tensor, "... seq d_model"]:
    positions = rotary.resolve_positions(token_positions, in_features)
    # one position per token, whatever the head
    per_head = positions[..., None, :]
    turn = partial(rotary.rotate, positions=per_head, theta=theta, max_seq_len=max_seq_len)
    w = Projections(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return heads.multihead(
        in_features, in_features, in_features, w, heads=num_heads, causal=True, rotate=turn
    )
