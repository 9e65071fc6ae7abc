"""Adapters on top of a handful of small general helpers."""

import torch
import torch.nn.functional as F

BASE = 10_000.0
HIDDEN = float("-inf")
LAST, TOKENS, HEADS = -1, -2, -3
# letters of the three axes that an attention step meets
SCORES = "...nd,...md->...nm"
VALUES = "...nm,...md->...nd"
# how many vectors of each size the biases take: (query, key, value) and output
BIASES = {"qkv": 3, "out": 1}
EVEN, ODD = slice(0, None, 2), slice(1, None, 2)


def split_heads(x, n):
    """(..., tokens, n * d) -> (..., n, tokens, d)"""
    return x.view(*x.shape[:LAST], n, x.shape[LAST] // n).transpose(HEADS, TOKENS)


def merge_heads(x):
    """(..., n, tokens, d) -> (..., tokens, n * d)"""
    return torch.cat(tuple(x.unbind(HEADS)), dim=LAST)


def project(x, *weights):
    """x through each weight, a tuple in the same order."""
    return tuple(F.linear(x, w) for w in weights)


def project_right(x, *weights):
    return tuple(torch.matmul(x, w) for w in weights)


def map_heads(n, *tensors):
    return [split_heads(t, n) for t in tensors]


def normalise(x, dim, keep=True):
    """Softmax along dim."""
    x = x - torch.logsumexp(x, dim, keepdim=keep)
    return torch.exp(x)


def lower_triangle(x_or_n, device=None):
    """The causal mask for this many tokens, or for these tokens."""
    if isinstance(x_or_n, torch.Tensor):
        x_or_n, device = x_or_n.shape[TOKENS], x_or_n.device
    i = torch.arange(x_or_n, device=device)
    return i.expand(x_or_n, x_or_n) <= i.reshape(-1, 1)


def similarity(q, k, mask=None, scale=None):
    scale = q.shape[LAST] ** -0.5 if scale is None else scale
    s = torch.einsum(SCORES, q, k) * scale
    return s if mask is None else torch.where(mask, s, HIDDEN)


def attend(q, k, v, mask=None, scale=None):
    return torch.einsum(VALUES, normalise(similarity(q, k, mask, scale), LAST), v)


def rotary_tables(positions, dim, base=BASE):
    """cos and sin, one column for each pair of features."""
    pair = torch.arange(dim // 2, device=positions.device)
    angle = positions[..., None] * base ** (-2.0 * pair / dim)
    return angle.cos(), angle.sin()


def weave(even, odd):
    """The inverse of x[..., EVEN], x[..., ODD]."""
    out = even.new_zeros(*even.shape[:LAST], 2 * even.shape[LAST])
    out[..., EVEN], out[..., ODD] = even, odd
    return out


def apply_rotary(x, cos, sin):
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    even, odd = x[..., EVEN], x[..., ODD]
    return weave(cos * even - sin * odd, cos * odd + sin * even)


# --- the adapters ---------------------------------------------------------------------------


def run_softmax(in_features, dim):
    return normalise(in_features, dim)


def run_simple_self_attention(in_features):
    return attend(in_features, in_features, in_features, scale=1.0)


def run_self_attention(W_query, W_key, W_value, in_features):
    return attend(*project_right(in_features, W_query, W_key, W_value))


def run_causal_mask(seq_len):
    return lower_triangle(seq_len)


def run_attention_weights(Q, K, mask=None):
    return normalise(similarity(Q, K, mask), LAST)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = project_right(in_features, W_query, W_key, W_value)
    return attend(q, k, v, lower_triangle(in_features))


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    tokens = in_features.unsqueeze(HEADS)
    q, k, v = project_right(tokens, W_query, W_key, W_value)
    return merge_heads(attend(q, k, v, lower_triangle(in_features)))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    qkv = project(in_features, q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = map_heads(num_heads, *qkv)
    (out,) = project(merge_heads(attend(q, k, v, lower_triangle(in_features))), o_proj_weight)
    return out


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
    (q,) = project(query, q_proj_weight)
    (k,) = project(key, k_proj_weight)
    (v,) = project(value, v_proj_weight)
    mask = lower_triangle(query) if is_causal else None
    heads = attend(*map_heads(num_heads, q, k, v), mask)
    return project(merge_heads(heads), o_proj_weight)[0]


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    matrices = 3 * d_in * d_out + d_out**2
    wanted = {"qkv": qkv_bias, "out": out_bias}
    return matrices + sum(BIASES[name] * d_out for name, yes in wanted.items() if yes)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    cos, sin = rotary_tables(torch.arange(seq_len), d_model)
    return weave(sin, cos)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    cos, sin = rotary_tables(token_positions, d_k, theta)
    return apply_rotary(in_query_or_key, cos, sin)


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
        token_positions = torch.arange(in_features.shape[TOKENS], device=in_features.device)
    tables = rotary_tables(token_positions.unsqueeze(TOKENS), d_model // num_heads, theta)
    qkv = project(in_features, q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = map_heads(num_heads, *qkv)
    q, k = (apply_rotary(t, *tables) for t in (q, k))
    heads = attend(q, k, v, lower_triangle(in_features))
    return project(merge_heads(heads), o_proj_weight)[0]
