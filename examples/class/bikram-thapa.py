# Homework: attention
# Bikram Thapa
#
# Everything is an einsum. If you can name the axes you can write the line.

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor


def _softmax(x: Tensor, dim: int) -> Tensor:
    unnormalised = (x - x.amax(dim, keepdim=True)).exp()
    return unnormalised / unnormalised.sum(dim, keepdim=True)


def _weights(q: Tensor, k: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    scores = einsum(q, k, "... queries d, ... keys d -> ... queries keys") * scale
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    return _softmax(scores, -1)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    w = _weights(q, k, mask, q.shape[-1] ** -0.5)
    return einsum(w, v, "... queries keys, ... keys d -> ... queries d")


def _lower_triangle(n: int, device=None) -> Tensor:
    i = torch.arange(n, device=device)
    return rearrange(i, "i -> i 1") >= rearrange(i, "j -> 1 j")


def _rotate(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    d = x.shape[-1]
    frequencies = theta ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = einsum(positions.to(frequencies.dtype), frequencies, "... s, k -> ... s k")
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = rearrange(x, "... (k pair) -> pair ... k", pair=2)
    return rearrange([a * cos - b * sin, a * sin + b * cos], "pair ... k -> ... (k pair)")


def _project(x: Tensor, W: Tensor, heads: int) -> Tensor:
    W = rearrange(W, "(h d) i -> h d i", h=heads)
    return einsum(x, W, "... s i, h d i -> ... h s d")


def _out(x: Tensor, W: Tensor) -> Tensor:
    return einsum(rearrange(x, "... h s d -> ... s (h d)"), W, "... s i, o i -> ... s o")


# --------------------------------------------------------------------------
# adapters
# --------------------------------------------------------------------------


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return _softmax(in_features, dim)


def run_simple_self_attention(in_features: Float[Tensor, "... seq d"]) -> Float[Tensor, "... seq d"]:
    w = _weights(in_features, in_features, None, 1.0)
    return einsum(w, in_features, "... q k, ... k d -> ... q d")


def run_self_attention(
    W_query: Float[Tensor, "d_in d_out"],
    W_key: Float[Tensor, "d_in d_out"],
    W_value: Float[Tensor, "d_in d_out"],
    in_features: Float[Tensor, "... seq d_in"],
) -> Float[Tensor, "... seq d_out"]:
    q, k, v = (einsum(in_features, W, "... s i, i o -> ... s o") for W in (W_query, W_key, W_value))
    return _attend(q, k, v)


def run_causal_mask(seq_len: int) -> Bool[Tensor, "seq seq"]:
    return _lower_triangle(seq_len)


def run_attention_weights(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries keys"]:
    return _weights(Q, K, mask, Q.shape[-1] ** -0.5)


def run_attention_dropout(weights: Float[Tensor, "..."], p: float, training: bool) -> Float[Tensor, "..."]:
    return torch.nn.functional.dropout(weights, p, training)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    return _attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = (einsum(in_features, W, "... s i, i o -> ... s o") for W in (W_query, W_key, W_value))
    return _attend(q, k, v, _lower_triangle(in_features.shape[-2], in_features.device))


def run_multihead_attention_stacked(
    W_query: Float[Tensor, "heads d_in d_head"],
    W_key: Float[Tensor, "heads d_in d_head"],
    W_value: Float[Tensor, "heads d_in d_head"],
    in_features: Float[Tensor, "... seq d_in"],
):
    q, k, v = (einsum(in_features, W, "... s i, h i d -> ... h s d") for W in (W_query, W_key, W_value))
    out = _attend(q, k, v, _lower_triangle(in_features.shape[-2], in_features.device))
    return rearrange(out, "... h s d -> ... s (h d)")


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
):
    return run_multihead_attention(
        d_model=d_model,
        num_heads=num_heads,
        q_proj_weight=q_proj_weight,
        k_proj_weight=k_proj_weight,
        v_proj_weight=v_proj_weight,
        o_proj_weight=o_proj_weight,
        query=in_features,
        key=in_features,
        value=in_features,
        is_causal=True,
    )


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
):
    q = _project(query, q_proj_weight, num_heads)
    k = _project(key, k_proj_weight, num_heads)
    v = _project(value, v_proj_weight, num_heads)
    mask = _lower_triangle(query.shape[-2], query.device) if is_causal else None
    return _out(_attend(q, k, v, mask), o_proj_weight)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Float[Tensor, "seq d_model"]:
    column = torch.arange(d_model)
    frequency = 10000.0 ** (-(column - column % 2) / d_model)
    angle = einsum(torch.arange(seq_len, dtype=frequency.dtype), frequency, "s, d -> s d")
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    return _rotate(in_query_or_key, token_positions, theta)


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
):
    seq = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(seq, device=in_features.device)
    token_positions = rearrange(token_positions, "... s -> ... 1 s")
    q = _rotate(_project(in_features, q_proj_weight, num_heads), token_positions, theta)
    k = _rotate(_project(in_features, k_proj_weight, num_heads), token_positions, theta)
    v = _project(in_features, v_proj_weight, num_heads)
    return _out(_attend(q, k, v, _lower_triangle(seq, in_features.device)), o_proj_weight)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    qkv = 3 * (d_in * d_out + (d_out if qkv_bias else 0))
    return qkv + d_out * d_out + (d_out if out_bias else 0)
