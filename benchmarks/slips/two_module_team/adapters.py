"""Puts Mira's attention.py and Jonas's rope.py together."""

import torch

import attention
from rope import RotaryEmbedding


def to_blocked(mask):
    """The assignment says True = allowed, attention.py says True = blocked."""
    if mask is None:
        return None
    return ~mask


def run_softmax(in_features, dim):
    return attention.softmax(in_features, dim)


def run_causal_mask(seq_len):
    return ~attention.future_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return attention.attention_weights(Q, K, to_blocked(mask))


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention.attend(Q, K, V, blocked=to_blocked(mask))


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    return attention.causal_head(in_features, W_query, W_key, W_value)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    return attention.stacked_heads(in_features, W_query, W_key, W_value)


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    x = in_features
    projections = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attention.multihead(x, x, x, projections, num_heads)


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
    w = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return attention.multihead(query, key, value, w, num_heads, causal=is_causal)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = RotaryEmbedding(d_k, max_seq_len, theta, device=in_query_or_key.device)
    return rope(in_query_or_key, token_positions)


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
    device = in_features.device
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=device)
    token_positions = token_positions.unsqueeze(-2)  # the heads share them

    d_head = d_model // num_heads
    embedding = RotaryEmbedding(d_head, max_seq_len, base=theta, device=device)

    def rotate(heads):
        return embedding(heads, token_positions)

    return attention.multihead(
        in_features,
        in_features,
        in_features,
        (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight),
        num_heads,
        rotate=rotate,
    )
