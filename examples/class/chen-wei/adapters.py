"""Thin layer between the tests and the `transformer` package."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import transformer as T


def _like(x: Tensor) -> dict:
    # modules are born as float32 on the default device unless they are told otherwise
    return {"device": x.device, "dtype": x.dtype}


def _load_single(module: nn.Module, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> nn.Module:
    """The tests multiply x @ W, nn.Linear does x @ W.T, hence the transposes."""
    module.load_state_dict(
        {"W_query.weight": W_query.T, "W_key.weight": W_key.T, "W_value.weight": W_value.T}
    )
    return module


def _load_multi(module: nn.Module, q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> nn.Module:
    module.load_state_dict(
        {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v, "o_proj.weight": o}
    )
    return module


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return T.softmax(in_features, dim)


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    return T.softmax(in_features @ in_features.mT) @ in_features


def run_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    d_in, d_out = W_query.shape
    module = T.SelfAttention(d_in, d_out, **_like(in_features))
    return _load_single(module, W_query, W_key, W_value)(in_features)


def run_causal_mask(seq_len: int) -> Tensor:
    return T.causal_mask(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    return T.attention_weights(Q, K, mask)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return nn.Dropout(p).train(training)(weights)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    return T.attention(Q, K, V, mask)


def run_causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    d_in, d_out = W_query.shape
    seq = in_features.size(-2)
    module = T.SelfAttention(d_in, d_out, context_length=seq, **_like(in_features))
    return _load_single(module, W_query, W_key, W_value)(in_features)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    num_heads, d_in, d_head = W_query.shape
    module = T.StackedHeads(d_in, d_head, num_heads, in_features.size(-2), **_like(in_features))
    for head, q, k, v in zip(module.heads, W_query, W_key, W_value):
        _load_single(head, q, k, v)
    return module(in_features)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    module = T.MultiHeadAttention(d_model, num_heads, **_like(in_features))
    _load_multi(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return module(in_features, is_causal=True)


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
    module = T.MultiHeadAttention(d_model, num_heads, **_like(query))
    _load_multi(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return module(query, key, value, is_causal=is_causal)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    return T.sinusoidal_table(seq_len, d_model)


def run_rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    rope = T.RotaryEmbedding(d_k, theta, max_seq_len, device=in_query_or_key.device)
    return rope(in_query_or_key, token_positions)


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
    rope = T.RotaryEmbedding(d_model // num_heads, theta, max_seq_len, device=in_features.device)
    module = T.MultiHeadAttention(d_model, num_heads, rope, **_like(in_features))
    _load_multi(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return module(in_features, is_causal=True, positions=token_positions)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    # build it on the meta device (costs no memory) and count
    with torch.device("meta"):
        layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
        layers.append(nn.Linear(d_out, d_out, bias=out_bias))
    return sum(p.numel() for layer in layers for p in layer.parameters())
