"""Attention by the names of its axes: s/t tokens, h heads, d features, i/o in and out."""

from __future__ import annotations

import torch
from einops import rearrange
from torch import Tensor, einsum

NEG_INF = float("-inf")


def stable_softmax(logits: Tensor, dim: int) -> Tensor:
    shifted = logits - logits.amax(dim=dim, keepdim=True)
    probs = shifted.exp()
    return probs / probs.sum(dim=dim, keepdim=True)


def look_back_mask(size: int, device=None) -> Tensor:
    steps = torch.arange(size, device=device)
    rows, cols = rearrange(steps, "t -> t 1"), rearrange(steps, "s -> 1 s")
    return cols <= rows


def similarity(query: Tensor, key: Tensor, allowed: Tensor | None) -> Tensor:
    """Attention weights, `... t s`."""
    query = query * query.size(-1) ** -0.5
    logits = einsum("...td,...sd->...ts", query, key)
    if allowed is not None:
        bias = torch.zeros_like(logits).masked_fill(~allowed, NEG_INF)
        logits = logits + bias
    return stable_softmax(logits, dim=-1)


def mix(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None = None) -> Tensor:
    weights = similarity(query, key, allowed)
    return einsum("...ts,...sd->...td", weights, value)


def rotary(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """RoPE as a product of complex numbers; positions line up with x's tokens."""
    half = x.size(-1) // 2
    powers = torch.arange(half, device=x.device) / half
    speed = base**-powers
    angle = einsum("...t,k->...tk", positions.to(speed.dtype), speed)
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(
        rearrange(x.float(), "... (k two) -> ... k two", two=2).contiguous()
    )
    turned = torch.view_as_real(pairs * turn)
    return rearrange(turned, "... k two -> ... (k two)").to(x.dtype)


def project_to_heads(x: Tensor, weight: Tensor, heads: int) -> Tensor:
    per_head = rearrange(weight, "(h d) i -> h d i", h=heads)
    return einsum("...ti,hdi->...htd", x, per_head)


def collect(heads: Tensor, weight: Tensor) -> Tensor:
    joined = rearrange(heads, "... h t d -> ... t (h d)")
    return einsum("...ti,oi->...to", joined, weight)


def multi_head(num_heads, weights, query, key, value, causal, positions=None, base=None) -> Tensor:
    w_q, w_k, w_v, w_o = weights
    q = project_to_heads(query, w_q, num_heads)
    k = project_to_heads(key, w_k, num_heads)
    v = project_to_heads(value, w_v, num_heads)
    if base is not None:
        shared = rearrange(positions, "... t -> ... 1 t")
        q = rotary(q, shared, base)
        k = rotary(k, shared, base)
    allowed = look_back_mask(query.size(-2), query.device) if causal else None
    return collect(mix(q, k, v, allowed), w_o)


# ------------------------------------------------------------------------------------------------


def run_softmax(in_features, dim):
    return stable_softmax(in_features, dim)


def run_simple_self_attention(in_features):
    logits = einsum("...td,...sd->...ts", in_features, in_features)
    return einsum("...ts,...sd->...td", stable_softmax(logits, -1), in_features)


def run_self_attention(W_query, W_key, W_value, in_features):
    q = einsum("...ti,io->...to", in_features, W_query)
    k = einsum("...ti,io->...to", in_features, W_key)
    v = einsum("...ti,io->...to", in_features, W_value)
    return mix(q, k, v)


def run_causal_mask(seq_len):
    return look_back_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return similarity(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if training:
        survives = torch.bernoulli(torch.full_like(weights, 1.0 - p))
        weights = weights * survives / (1.0 - p)
    return weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return mix(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q = einsum("...ti,io->...to", in_features, W_query)
    k = einsum("...ti,io->...to", in_features, W_key)
    v = einsum("...ti,io->...to", in_features, W_value)
    return mix(q, k, v, look_back_mask(q.size(-2), q.device))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    q = einsum("...ti,hid->...htd", in_features, W_query)
    k = einsum("...ti,hid->...htd", in_features, W_key)
    v = einsum("...ti,hid->...htd", in_features, W_value)
    heads = mix(q, k, v, look_back_mask(q.size(-2), q.device))
    return rearrange(heads, "... h t d -> ... t (h d)")


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(num_heads, weights, in_features, in_features, in_features, causal=True)


def run_multihead_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    query,
    key,
    value,
    is_causal,
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(num_heads, weights, query, key, value, causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    k = torch.arange(d_model // 2)
    speed = 10_000.0 ** (-2 * k / d_model)
    angle = einsum("t,k->tk", torch.arange(seq_len, dtype=speed.dtype), speed)
    waves = torch.stack((angle.sin(), angle.cos()), dim=-1)
    return rearrange(waves, "t k two -> t (k two)")


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotary(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=in_features.device)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(
        num_heads,
        weights,
        in_features,
        in_features,
        in_features,
        causal=True,
        positions=token_positions,
        base=theta,
    )


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    inputs = (d_in + int(qkv_bias)) * d_out * 3
    output = (d_out + int(out_bias)) * d_out
    return inputs + output
