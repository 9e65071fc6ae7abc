"""Model answers on positions: sinusoidal encoding, rotary embedding, attention with it."""

import torch
from torch import Tensor

from .attention import causal_attention, merge_heads, split_heads


def sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    """Encode each position as sines and cosines of slower and slower waves."""
    angles = position_angles(torch.arange(seq_len), d_model, 10000.0, torch.float64)
    waves = torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1)
    return waves.flatten(-2).to(torch.get_default_dtype())


def rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    """Rotate the pairs (0, 1), (2, 3), ... of each vector by angles that grow with its position."""
    # Angles reach max_seq_len, where half precision no longer tells neighbours apart.
    precise = torch.promote_types(in_query_or_key.dtype, torch.float32)
    every_position = torch.arange(max_seq_len, device=in_query_or_key.device)
    table = position_angles(every_position, d_k, theta, precise)
    angles = table[token_positions]
    cos, sin = torch.cos(angles), torch.sin(angles)
    first, second = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2]
    rotated = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return rotated.flatten(-2).to(in_query_or_key.dtype)


def multihead_self_attention_with_rope(
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
    """Causal multi-head self-attention whose queries and keys are rotated by their positions."""
    d_head = d_model // num_heads
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    shared_by_heads = token_positions.unsqueeze(-2)
    queries = split_heads(in_features @ q_proj_weight.T, num_heads, d_head)
    keys = split_heads(in_features @ k_proj_weight.T, num_heads, d_head)
    values = split_heads(in_features @ v_proj_weight.T, num_heads, d_head)
    rotated_queries = rope(d_head, theta, max_seq_len, queries, shared_by_heads)
    rotated_keys = rope(d_head, theta, max_seq_len, keys, shared_by_heads)
    heads = causal_attention(rotated_queries, rotated_keys, values)
    merged = merge_heads(heads)
    return merged @ o_proj_weight.T


def position_angles(positions: Tensor, d: int, theta: float, dtype: torch.dtype) -> Tensor:
    """The angle `position * theta ** (-2k / d)` of every position and pair k, `... seq pairs`."""
    first_of_pair = torch.arange(0, d, 2, dtype=dtype, device=positions.device)
    frequencies = theta ** (-first_of_pair / d)
    return positions[..., None].to(dtype) * frequencies
