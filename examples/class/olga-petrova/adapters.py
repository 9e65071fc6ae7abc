from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from assignment.attention import attention, attention_weights, may_look, multi_head_attention
from assignment.positions import rope, sinusoidal


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return F.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    weights = F.softmax(torch.matmul(in_features, in_features.swapdims(-1, -2)), dim=-1)
    return torch.matmul(weights, in_features)


def run_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    q, k, v = (torch.matmul(in_features, W) for W in [W_query, W_key, W_value])
    return attention(q, k, v)


def run_causal_mask(seq_len: int) -> Tensor:
    return may_look(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    return attention_weights(Q, K, mask)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(weights, p=p, training=training)


def run_scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    return attention(Q, K, V, mask)


def run_causal_self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    q, k, v = (torch.matmul(in_features, W) for W in [W_query, W_key, W_value])
    return attention(q, k, v, may_look(in_features.shape[-2], in_features.device))


def run_multihead_attention_stacked(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    # all heads with one matmul: (d_in, heads * d_head)
    def project(W):
        wide = W.permute(1, 0, 2).flatten(1)
        return torch.matmul(in_features, wide).unflatten(-1, (W.shape[0], W.shape[2])).swapdims(-2, -3)

    mask = may_look(in_features.shape[-2], in_features.device)
    out = attention(project(W_query), project(W_key), project(W_value), mask)
    return out.swapdims(-2, -3).flatten(-2)


def run_multihead_self_attention(d_model: int, num_heads: int, q_proj_weight: Tensor, k_proj_weight: Tensor,
                                 v_proj_weight: Tensor, o_proj_weight: Tensor, in_features: Tensor) -> Tensor:
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    mask = may_look(in_features.shape[-2], in_features.device)
    return multi_head_attention(num_heads, weights, [in_features] * 3, mask)


def run_multihead_attention(d_model: int, num_heads: int, q_proj_weight: Tensor, k_proj_weight: Tensor,
                            v_proj_weight: Tensor, o_proj_weight: Tensor, query: Tensor, key: Tensor, value: Tensor,
                            is_causal: bool) -> Tensor:
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    mask = may_look(query.shape[-2], query.device) if is_causal else None
    return multi_head_attention(num_heads, weights, [query, key, value], mask)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    return sinusoidal(seq_len, d_model)


def run_rope(d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor) -> Tensor:
    return rope(in_query_or_key, token_positions, theta)


def run_multihead_self_attention_with_rope(d_model: int, num_heads: int, max_seq_len: int, theta: float,
                                           q_proj_weight: Tensor, k_proj_weight: Tensor, v_proj_weight: Tensor,
                                           o_proj_weight: Tensor, in_features: Tensor,
                                           token_positions: Optional[Tensor] = None) -> Tensor:
    n = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(n, device=in_features.device)
    positions = token_positions.unsqueeze(-2)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head_attention(num_heads, weights, [in_features] * 3, may_look(n, in_features.device),
                                lambda x: rope(x, positions, theta))


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    per_projection = d_in * d_out + qkv_bias * d_out
    return per_projection * 3 + d_out * d_out + out_bias * d_out
