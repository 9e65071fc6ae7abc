"""Only operators: @, .mT, None and ... in brackets, exp, sum, amax, where. No nn, no masked_fill."""
import torch


def run_softmax(in_features, dim):
    z = in_features - in_features.amax(dim, keepdim=True)
    e = torch.exp(z)
    return e / e.sum(dim, keepdim=True)


def run_causal_mask(seq_len):
    i = torch.arange(seq_len)
    return i[None, :] <= i[:, None]


def _weights(q, k, allowed=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    if allowed is None:
        return run_softmax(s, -1)
    # multiplicative mask: hidden keys count 0 in the numerator and in the sum
    s = s - torch.where(allowed, s, -torch.inf).amax(-1)[..., None]
    e = torch.exp(torch.where(allowed, s, 0.0)) * allowed
    return e / e.sum(-1)[..., None]


def run_attention_weights(Q, K, mask=None):
    return _weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return _weights(Q, K, mask) @ V


def run_simple_self_attention(in_features):
    return run_softmax(in_features @ in_features.mT, -1) @ in_features


def run_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    return _weights(q, k) @ v


def run_attention_dropout(weights, p, training):
    u = torch.rand_like(weights)
    keep = (u >= p) * 1.0
    return weights * keep.to(weights.dtype) / (1 - p) if training else weights


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = in_features @ W_query, in_features @ W_key, in_features @ W_value
    allowed = run_causal_mask(q.shape[-2])
    return _weights(q, k, allowed.to(q.device)) @ v


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x = in_features[..., None, :, :]
    # (..., 1, seq, d_in) @ (heads, d_in, d_head) -> (..., heads, seq, d_head)
    y = run_causal_self_attention(W_query, W_key, W_value, x)
    return y.transpose(-3, -2).flatten(-2)


def _into_heads(x, W, num_heads):
    return (x @ W.mT).unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def _out_of_heads(y, W):
    y = y.transpose(-3, -2)
    y = y.flatten(-2)
    return y @ W.mT


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    q = _into_heads(in_features, q_proj_weight, num_heads)
    k = _into_heads(in_features, k_proj_weight, num_heads)
    v = _into_heads(in_features, v_proj_weight, num_heads)
    i = torch.arange(q.shape[-2], device=q.device)
    allowed = i[:, None] >= i
    y = _weights(q, k, allowed) @ v
    return _out_of_heads(y, o_proj_weight)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    q = _into_heads(query, q_proj_weight, num_heads)
    k = _into_heads(key, k_proj_weight, num_heads)
    v = _into_heads(value, v_proj_weight, num_heads)
    rows = torch.arange(query.shape[-2], device=query.device)[:, None]
    cols = torch.arange(key.shape[-2], device=query.device)[None, :]
    allowed = (cols <= rows) | (not is_causal)
    return _out_of_heads(_weights(q, k, allowed) @ v, o_proj_weight)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return 3 * d_out * (d_in + qkv_bias) + d_out * (d_out + out_bias)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    pos = torch.arange(seq_len)[:, None]
    j = torch.arange(d_model)[None, :]
    angle = pos / 10000 ** ((j - j % 2) / d_model)
    odd = j % 2
    # multiplicative switch between the two functions
    return torch.sin(angle) * (1 - odd) + torch.cos(angle) * odd


def _turn(x, angle):
    c, s = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
    pairs = x.unflatten(-1, (-1, 2))
    a, b = pairs[..., 0], pairs[..., 1]
    y = torch.zeros_like(pairs)
    y[..., 0] = a * c - b * s
    y[..., 1] = b * c + a * s
    return y.flatten(-2)


def _angle(d_k, theta, positions):
    k = torch.arange(d_k // 2, device=positions.device)
    return positions[..., None] * theta ** (-2 * k / d_k)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return _turn(in_query_or_key, _angle(d_k, theta, token_positions))


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    i = torch.arange(in_features.shape[-2], device=in_features.device)
    m = i if token_positions is None else token_positions
    angle = _angle(d_model // num_heads, theta, m)[..., None, :, :]
    q = _turn(_into_heads(in_features, q_proj_weight, num_heads), angle)
    k = _turn(_into_heads(in_features, k_proj_weight, num_heads), angle)
    v = _into_heads(in_features, v_proj_weight, num_heads)
    allowed = i[:, None] >= i[None, :]
    y = _weights(q, k, allowed) @ v
    return _out_of_heads(y, o_proj_weight)
