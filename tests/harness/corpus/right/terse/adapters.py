# attention, short and (where nobody else holds the tensor) in place
import torch


def softmax(x, dim):
    return torch.exp(x - torch.logsumexp(x, dim, keepdim=True))


def causal(n, device=None):
    return ~torch.ones(n, n, dtype=torch.bool, device=device).triu(1)


def weights(q, k, ok=None):
    s = q @ k.mT
    s /= q.shape[-1] ** 0.5
    if ok is not None:
        s.masked_fill_(~ok, -torch.inf)
    return softmax(s, -1)


def attend(q, k, v, ok=None):
    return weights(q, k, ok) @ v


def split(x, h):
    # heads come first of all axes: h ... s d
    return x.unflatten(-1, (h, -1)).movedim(-2, 0)


def join(x):
    return x.movedim(0, -2).flatten(-2)


def rope(x, pos, theta):
    k = torch.arange(x.shape[-1] // 2, device=x.device)
    a = pos[..., None] * theta ** (-k / len(k))
    c, s = a.cos(), a.sin()
    x = x.unflatten(-1, (-1, 2))
    u, v = x.unbind(-1)
    y = torch.stack((c * u - s * v, s * u + c * v), -1).flatten(-2)
    return y.to(x.dtype)


def mha(h, ws, q, k, v, ok=None, turn=lambda x: x):
    wq, wk, wv, wo = ws
    q, k, v = split(q @ wq.T, h), split(k @ wk.T, h), split(v @ wv.T, h)
    q, k = turn(q), turn(k)
    return join(attend(q, k, v, ok)) @ wo.T


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_simple_self_attention(in_features):
    x = in_features
    return softmax(x @ x.mT, -1) @ x


def run_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    return attend(x @ W_query, x @ W_key, x @ W_value)


def run_causal_mask(seq_len):
    return causal(seq_len)


def run_attention_weights(Q, K, mask=None):
    return weights(Q, K, mask)


def run_attention_dropout(weights, p, training):
    if training:
        keep = torch.empty_like(weights).bernoulli_(1 - p)
        return weights * keep / (1 - p)
    return weights


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x, ok = in_features, causal(in_features.shape[-2], in_features.device)
    return attend(x @ W_query, x @ W_key, x @ W_value, ok)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    x, ok = in_features, causal(in_features.shape[-2], in_features.device)
    q, k, v = (torch.stack([x @ w for w in ws]) for ws in (W_query, W_key, W_value))
    return join(attend(q, k, v, ok))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    x, ws = in_features, (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(num_heads, ws, x, x, x, causal(x.shape[-2], x.device))


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
    ws = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    ok = causal(query.shape[-2], query.device) if is_causal else None
    return mha(num_heads, ws, query, key, value, ok)


def run_sinusoidal_positional_encoding(seq_len, d_model):
    a = torch.arange(seq_len)[:, None] / 1e4 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((a.sin(), a.cos()), -1).flatten(1)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rope(in_query_or_key, token_positions, theta)


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
    x, ws = in_features, (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    n = x.shape[-2]
    pos = torch.arange(n, device=x.device) if token_positions is None else token_positions
    return mha(num_heads, ws, x, x, x, causal(n, x.device), lambda t: rope(t, pos, theta))


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    return 3 * d_out * (d_in + qkv_bias) + d_out * (d_out + out_bias)
