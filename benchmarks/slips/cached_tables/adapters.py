import math
from functools import lru_cache

import torch
from torch import Tensor

# Everything that depends on sizes alone is made once and kept.
_masks: dict[tuple[int, torch.device], Tensor] = {}
_tables: dict[tuple, tuple[Tensor, Tensor]] = {}


@lru_cache(maxsize=None)
def scale(d_k):
    return 1 / math.sqrt(d_k)


@lru_cache(maxsize=64)
def inverse_frequencies(dim, theta):
    return torch.tensor([theta ** (-2 * i / dim) for i in range(dim // 2)], device="cpu")


def triangle(n, device=None):
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def visible(n, device):
    """The causal mask, one for each length (and device)."""
    key = (n, device)
    if key not in _masks:
        _masks[key] = triangle(n, device)
    return _masks[key]


def cos_sin(dim, theta, length, device):
    key = (dim, theta, length, device)
    if key not in _tables:
        position = torch.arange(length, device=device).float()
        angle = position[:, None] * inverse_frequencies(dim, theta).to(device)
        _tables[key] = (angle.cos(), angle.sin())
    return _tables[key]


@lru_cache(maxsize=16)
def encoding(seq_len, d_model):
    position = torch.arange(seq_len).float()
    table = torch.zeros(seq_len, d_model)
    for i in range(0, d_model, 2):
        angle = position / 10000 ** (i / d_model)
        table[:, i] = torch.sin(angle)
        table[:, i + 1] = torch.cos(angle)
    return table


def softmax(x, dim):
    x = x - x.amax(dim, keepdim=True)
    numerator = x.exp()
    denominator = numerator.sum(dim, keepdim=True)
    return numerator / denominator


def weights_of(Q, K, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", Q, K) * scale(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -torch.inf)
    return softmax(scores, -1)


def attend(Q, K, V, mask=None):
    return torch.einsum("...qk,...kd->...qd", weights_of(Q, K, mask), V)


def turn(x, positions, theta, length):
    cos, sin = cos_sin(x.size(-1), theta, length, x.device)
    cos = cos[positions].to(x.dtype)
    sin = sin[positions].to(x.dtype)
    even, odd = x[..., ::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.reshape(x.shape)


def heads_of(x, weight, num_heads):
    return (x @ weight.T).unflatten(-1, (num_heads, -1)).transpose(-2, -3)


def joined(x, weight):
    return x.transpose(-2, -3).flatten(-2) @ weight.T


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_causal_mask(seq_len):
    return triangle(seq_len)


def run_attention_weights(Q, K, mask=None):
    return weights_of(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    mask = visible(in_features.size(-2), in_features.device)
    Q, K, V = (in_features @ W for W in (W_query, W_key, W_value))
    return attend(Q, K, V, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x = in_features.unsqueeze(-3)  # every head gets the same tokens
    mask = visible(x.size(-2), x.device)
    out = attend(x @ W_query, x @ W_key, x @ W_value, mask)
    return out.movedim(-3, -2).flatten(-2)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    q = heads_of(in_features, q_proj_weight, num_heads)
    k = heads_of(in_features, k_proj_weight, num_heads)
    v = heads_of(in_features, v_proj_weight, num_heads)
    mask = visible(in_features.size(-2), in_features.device)
    return joined(attend(q, k, v, mask), o_proj_weight)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return encoding(seq_len, d_model).clone()


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return turn(in_query_or_key, token_positions, theta, max_seq_len)


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
    seq = in_features.size(-2)
    if token_positions is None:
        token_positions = torch.arange(seq, device=in_features.device)
    per_head = token_positions.unsqueeze(-2)
    q = turn(heads_of(in_features, q_proj_weight, num_heads), per_head, theta, max_seq_len)
    k = turn(heads_of(in_features, k_proj_weight, num_heads), per_head, theta, max_seq_len)
    v = heads_of(in_features, v_proj_weight, num_heads)
    return joined(attend(q, k, v, visible(seq, in_features.device)), o_proj_weight)
