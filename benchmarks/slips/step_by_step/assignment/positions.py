import torch

from assignment.attention import (
    apply_linear,
    divide_into_heads,
    join_heads,
    scaled_dot_product_attention,
)
from assignment.warmup import causal_mask


def pair_exponents(d):
    pair_numbers = torch.arange(d // 2)
    doubled = 2 * pair_numbers
    exponents = doubled / d
    return exponents


def sinusoidal_positional_encoding(seq_len, d_model):
    position_column = torch.arange(seq_len).reshape(seq_len, 1)
    exponents = pair_exponents(d_model)
    denominators = torch.pow(10000.0, exponents)
    angles = position_column / denominators
    sines = torch.sin(angles)
    cosines = torch.cos(angles)
    encoding = torch.zeros(seq_len, d_model)
    even_columns = torch.arange(0, d_model, 2)
    odd_columns = even_columns + 1
    encoding[:, even_columns] = sines
    encoding[:, odd_columns] = cosines
    return encoding


def compute_angles(d_k, theta, token_positions):
    exponents = pair_exponents(d_k)
    frequencies = 1.0 / torch.pow(theta, exponents)
    positions_with_new_axis = token_positions[..., None]
    angles = positions_with_new_axis * frequencies
    return angles


def rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    angles = compute_angles(d_k, theta, token_positions)
    cosines = torch.cos(angles).to(in_query_or_key.dtype)
    sines = torch.sin(angles).to(in_query_or_key.dtype)
    first_of_pairs = in_query_or_key[..., 0::2]
    second_of_pairs = in_query_or_key[..., 1::2]
    rotated_first = first_of_pairs * cosines - second_of_pairs * sines
    rotated_second = first_of_pairs * sines + second_of_pairs * cosines
    rotated = torch.stack([rotated_first, rotated_second], dim=-1)
    result = torch.reshape(rotated, in_query_or_key.shape)
    return result


def multihead_self_attention_with_rope(
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
    number_of_tokens = in_features.size(-2)
    d_head = d_model // num_heads
    if token_positions is None:
        token_positions = torch.arange(number_of_tokens)
    # the same positions for every head
    positions_for_heads = token_positions.unsqueeze(-2)
    queries = divide_into_heads(apply_linear(in_features, q_proj_weight), num_heads)
    keys = divide_into_heads(apply_linear(in_features, k_proj_weight), num_heads)
    values = divide_into_heads(apply_linear(in_features, v_proj_weight), num_heads)
    rotated_queries = rope(d_head, theta, max_seq_len, queries, positions_for_heads)
    rotated_keys = rope(d_head, theta, max_seq_len, keys, positions_for_heads)
    mask = causal_mask(number_of_tokens)
    attended = scaled_dot_product_attention(rotated_queries, rotated_keys, values, mask)
    joined = join_heads(attended)
    result = apply_linear(joined, o_proj_weight)
    return result
