from __future__ import annotations

import torch
from torch import Tensor

from attention_basics import __version__  # noqa: F401
from attention_basics.layers import MultiHead, RoPE
from attention_basics.nn_basics import (
    attention_probs,
    lower_triangular,
    merge,
    scaled_dot_product_attention,
    softmax,
)
from tests.common import BASE


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return softmax(in_features, dim)


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    logits = torch.einsum("...nd,...md->...nm", in_features, in_features)
    return torch.einsum("...nm,...md->...nd", softmax(logits, -1), in_features)


def run_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    return scaled_dot_product_attention(q, k, v)


def run_causal_mask(seq_len: int) -> Tensor:
    return lower_triangular(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    return attention_probs(Q, K, mask)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return torch.nn.functional.dropout(weights, p=p, training=training)


def run_scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return scaled_dot_product_attention(Q, K, V, mask)


def run_causal_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    mask = lower_triangular(in_features.shape[-2], in_features.device)
    return scaled_dot_product_attention(q, k, v, mask)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    q, k, v = (torch.einsum("...si,hio->...hso", in_features, W) for W in (W_query, W_key, W_value))
    mask = lower_triangular(in_features.shape[-2], in_features.device)
    return merge(scaled_dot_product_attention(q, k, v, mask))


def _multihead(num_heads: int, wq: Tensor, wk: Tensor, wv: Tensor, wo: Tensor, theta: float | None = None):
    layer = MultiHead(wq.shape[0], num_heads, theta, device=wq.device, dtype=wq.dtype)
    layer.load_state_dict({"wq.weight": wq, "wk.weight": wk, "wv.weight": wv, "wo.weight": wo})
    return layer


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    layer = _multihead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, (in_features, in_features), causal=True)


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
) -> Tensor:
    layer = _multihead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(query, (key, value), causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    i = torch.arange(d_model)
    wavelengths = BASE ** (torch.div(i, 2, rounding_mode="floor") * 2 / d_model)
    angles = torch.arange(seq_len).unsqueeze(1) / wavelengths
    encoding = angles.sin()
    encoding[:, 1::2] = angles[:, 1::2].cos()
    return encoding


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    return RoPE(d_k, theta, device=in_query_or_key.device)(in_query_or_key, token_positions)


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
    token_positions: Tensor | None = None,
) -> Tensor:
    layer = _multihead(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, theta)
    return layer(in_features, (in_features, in_features), causal=True, pos=token_positions)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    qkv = d_in * d_out + int(qkv_bias) * d_out
    out = d_out * d_out + int(out_bias) * d_out
    return 3 * qkv + out
