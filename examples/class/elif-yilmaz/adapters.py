from __future__ import annotations

import torch
from torch import Tensor

from assignment.attention import attention, causal, from_heads, masked_softmax, to_heads, weights as attn_weights
from assignment.rope import apply_rope


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    # the biggest entry becomes e^0 = 1, so nothing overflows
    e = in_features.sub(in_features.amax(dim, keepdim=True)).exp()
    return e.div(e.sum(dim, keepdim=True))


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    return masked_softmax(in_features @ in_features.mT) @ in_features


def run_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    x = in_features
    return attention(x @ W_query, x @ W_key, x @ W_value)


def run_causal_mask(seq_len: int) -> Tensor:
    return causal(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    return attn_weights(Q, K, mask)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return torch.dropout(weights, p, training)


def run_scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return attention(Q, K, V, mask)


def run_causal_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    x = in_features
    return attention(x @ W_query, x @ W_key, x @ W_value, causal(x.shape[-2], x.device))


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    x = in_features[..., None, :, :]
    heads = attention(x @ W_query, x @ W_key, x @ W_value, causal(x.shape[-2], x.device))
    return torch.cat(heads.unbind(dim=-3), dim=-1)


def run_multihead_self_attention(
    d_model: int, num_heads: int,
    q_proj_weight: Tensor, k_proj_weight: Tensor, v_proj_weight: Tensor, o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    q = to_heads(in_features, q_proj_weight, num_heads)
    k = to_heads(in_features, k_proj_weight, num_heads)
    v = to_heads(in_features, v_proj_weight, num_heads)
    return from_heads(attention(q, k, v, causal(q.shape[-2], q.device)), o_proj_weight)


def run_multihead_attention(
    d_model: int, num_heads: int,
    q_proj_weight: Tensor, k_proj_weight: Tensor, v_proj_weight: Tensor, o_proj_weight: Tensor,
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool,
) -> Tensor:
    q = to_heads(query, q_proj_weight, num_heads)
    k = to_heads(key, k_proj_weight, num_heads)
    v = to_heads(value, v_proj_weight, num_heads)
    mask = causal(q.shape[-2], q.device) if is_causal else None
    return from_heads(attention(q, k, v, mask), o_proj_weight)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    # sine is the imaginary part of e^{iφ}, cosine the real one
    ω = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    φ = torch.outer(torch.arange(seq_len, dtype=torch.float64), ω)
    z = torch.polar(torch.ones_like(φ), φ)
    return torch.stack((z.imag, z.real), dim=-1).flatten(1)[:, :d_model].float()


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    return apply_rope(in_query_or_key, token_positions, theta, max_seq_len)


def run_multihead_self_attention_with_rope(
    d_model: int, num_heads: int, max_seq_len: int, theta: float,
    q_proj_weight: Tensor, k_proj_weight: Tensor, v_proj_weight: Tensor, o_proj_weight: Tensor,
    in_features: Tensor, token_positions: Tensor | None = None,
) -> Tensor:
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    per_head = token_positions[..., None, :]
    q = apply_rope(to_heads(in_features, q_proj_weight, num_heads), per_head, theta, max_seq_len)
    k = apply_rope(to_heads(in_features, k_proj_weight, num_heads), per_head, theta, max_seq_len)
    v = to_heads(in_features, v_proj_weight, num_heads)
    return from_heads(attention(q, k, v, causal(q.shape[-2], q.device)), o_proj_weight)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return 3 * d_out * (d_in + qkv_bias) + d_out * (d_out + out_bias)
