import math

import torch


def run_softmax(in_features, dim):
    # subtract the max so that exp does not overflow
    m = torch.max(in_features, dim=dim, keepdim=True)[0]
    tmp = torch.exp(in_features - m)
    s = torch.sum(tmp, dim=dim, keepdim=True)
    return tmp / s


def run_causal_mask(seq_len):
    mask = torch.triu(torch.ones(seq_len, seq_len), diagonal=1)
    mask = mask == 0
    return mask


def run_attention_weights(Q, K, mask=None):
    dk = Q.shape[-1]
    KT = K.transpose(-1, -2)
    S = Q @ KT
    S = S / math.sqrt(dk)
    if mask is not None:
        S = S.masked_fill(mask == False, -math.inf)
    A = run_softmax(S, -1)
    return A


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    # scores
    tmp = torch.matmul(Q, K.transpose(-2, -1))
    tmp = tmp / (Q.shape[-1] ** 0.5)
    # mask
    if mask is not None:
        tmp = torch.where(mask, tmp, torch.tensor(-math.inf, dtype=tmp.dtype))
    # softmax
    att = run_softmax(tmp, dim=-1)
    out = torch.matmul(att, V)
    return out


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    x = in_features
    Q = x @ W_query
    K = x @ W_key
    V = x @ W_value
    T = x.shape[-2]
    dk = K.shape[-1]
    # (K Q^T)^T is the same as Q K^T
    scores = (K @ Q.transpose(-1, -2)).transpose(-1, -2) / math.sqrt(dk)
    mask = torch.triu(torch.ones(T, T), diagonal=1).bool()
    scores = scores.masked_fill(mask, -math.inf)
    weights = run_softmax(scores, dim=-1)
    return weights @ V


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    n_heads = W_query.shape[0]
    T = in_features.shape[-2]
    mask = run_causal_mask(T)
    results = []
    for i in range(n_heads):
        q = in_features @ W_query[i]
        k = in_features @ W_key[i]
        v = in_features @ W_value[i]
        tmp = run_attention_weights(q, k, mask)
        tmp = tmp @ v
        results.append(tmp)
    return torch.cat(results, dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    d_head = d_model // num_heads
    T = in_features.shape[-2]
    # projections
    Q = in_features @ q_proj_weight.T
    K = in_features @ k_proj_weight.T
    V = in_features @ v_proj_weight.T
    # mask, True where we must not look
    mask = torch.triu(torch.ones(T, T), diagonal=1) == 1
    heads = []
    for h in range(num_heads):
        start = h * d_head
        end = start + d_head
        Qh = Q[..., start:end]
        Kh = K[..., start:end]
        Vh = V[..., start:end]
        tmp = Qh @ Kh.transpose(-2, -1)
        tmp = tmp / math.sqrt(d_head)
        tmp = tmp.masked_fill(mask, float("-inf"))
        tmp = torch.softmax(tmp, dim=-1)
        heads.append(tmp @ Vh)
    out = torch.cat(heads, dim=-1)
    out = out @ o_proj_weight.T
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
    dh = d_model // num_heads
    Tq = query.shape[-2]
    Tk = key.shape[-2]
    if is_causal:
        m = run_causal_mask(Tq)
    else:
        m = torch.ones(Tq, Tk).bool()
    all_heads = []
    for i in range(num_heads):
        # rows of the weights that belong to head i
        Wq = q_proj_weight[i * dh : (i + 1) * dh, :]
        Wk = k_proj_weight[i * dh : (i + 1) * dh, :]
        Wv = v_proj_weight[i * dh : (i + 1) * dh, :]
        qi = torch.matmul(query, Wq.transpose(0, 1))
        ki = torch.matmul(key, Wk.transpose(0, 1))
        vi = torch.matmul(value, Wv.transpose(0, 1))
        yi = run_scaled_dot_product_attention(qi, ki, vi, m)
        all_heads.append(yi)
    y = torch.cat(all_heads, dim=-1)
    y = torch.matmul(y, o_proj_weight.transpose(0, 1))
    return y


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key
    # frequencies
    i = torch.arange(0, d_k, 2).to(x.dtype)
    freq = 1.0 / (theta ** (i / d_k))
    # angles for every position we could need, then pick
    pos = torch.arange(max_seq_len).to(x.dtype)
    angles = pos[:, None] * freq[None, :]
    angles = angles[token_positions]
    cos = torch.cos(angles)
    sin = torch.sin(angles)
    # rotate
    x_even = x[..., 0::2]
    x_odd = x[..., 1::2]
    out = torch.zeros_like(x)
    out[..., 0::2] = x_even * cos - x_odd * sin
    out[..., 1::2] = x_even * sin + x_odd * cos
    return out


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
    d_k = d_model // num_heads
    seq_len = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(seq_len)
    Q_all = in_features @ q_proj_weight.transpose(0, 1)
    K_all = in_features @ k_proj_weight.transpose(0, 1)
    V_all = in_features @ v_proj_weight.transpose(0, 1)
    causal = torch.triu(torch.ones(seq_len, seq_len), diagonal=1)
    outs = []
    for h in range(num_heads):
        Q = Q_all[..., h * d_k : (h + 1) * d_k]
        K = K_all[..., h * d_k : (h + 1) * d_k]
        V = V_all[..., h * d_k : (h + 1) * d_k]
        # rotate queries and keys
        Q = run_rope(d_k, theta, max_seq_len, Q, token_positions)
        K = run_rope(d_k, theta, max_seq_len, K, token_positions)
        att = torch.matmul(Q, K.transpose(-2, -1)) / (d_k**0.5)
        att = att.masked_fill(causal == 1, float("-inf"))
        att = torch.softmax(att, dim=-1)
        outs.append(torch.matmul(att, V))
    concat = torch.cat(outs, dim=-1)
    final = concat @ o_proj_weight.transpose(0, 1)
    return final
