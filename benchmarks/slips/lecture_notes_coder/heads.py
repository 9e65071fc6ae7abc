"""Lecture 8: one head, H heads side by side, and H heads out of one big matrix.

Everything is batch-first, (B, n, d); inputs with other leading axes are brought to that form.
"""

import torch

from mathops import attention, causal_mask, rope


def to_batch(x):
    """(..., n, d) -> (B, n, d)."""
    n, d = x.shape[-2:]
    return x.contiguous().view(-1, n, d)


def split_heads(x, num_heads):
    """Eq. (8.3): (B, n, H * d_h) -> (B, H, n, d_h)."""
    B, n, d_model = x.shape
    assert d_model % num_heads == 0
    d_h = d_model // num_heads
    x = x.contiguous().view(B, n, num_heads, d_h)
    return x.permute(0, 2, 1, 3)


def merge_heads(x):
    """Eq. (8.5): (B, H, n, d_h) -> (B, n, H * d_h), the inverse of split_heads."""
    B, H, n, d_h = x.shape
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(B, n, H * d_h)


def project(x, W):
    """y = x W^T, as in torch.nn.Linear."""
    assert x.shape[-1] == W.shape[1]
    return torch.matmul(x, W.T)


def causal_head(x, W_q, W_k, W_v):
    """Eq. (8.1): one causal head; the matrices multiply from the right here."""
    n = x.shape[-2]
    q = torch.matmul(x, W_q)
    k = torch.matmul(x, W_k)
    v = torch.matmul(x, W_v)
    return attention(q, k, v, causal_mask(n))


def stacked_heads(x, W_q, W_k, W_v):
    """Eq. (8.2): Concat(head_1, ..., head_H) without W_o."""
    H = W_q.shape[0]
    outs = []
    for h in range(H):
        outs.append(causal_head(x, W_q[h], W_k[h], W_v[h]))
    return torch.cat(outs, dim=-1)


def multi_head(query, key, value, num_heads, W_q, W_k, W_v, W_o, causal):
    """Eq. (8.4): MultiHead(q, k, v) = Concat(head_1, ..., head_H) W_o^T."""
    lead = query.shape[:-2]
    n, d_model = query.shape[-2:]
    query, key, value = to_batch(query), to_batch(key), to_batch(value)
    q = split_heads(project(query, W_q), num_heads)
    k = split_heads(project(key, W_k), num_heads)
    v = split_heads(project(value, W_v), num_heads)
    mask = None
    if causal:
        mask = causal_mask(n)
    concat = merge_heads(attention(q, k, v, mask))
    out = project(concat, W_o)
    return out.view(*lead, n, d_model)


def batch_positions(positions, x):
    """(..., n) with maybe fewer leading axes than x -> (B, n); None -> 0, 1, 2, ..."""
    n = x.shape[-2]
    if positions is None:
        positions = torch.arange(n)
    positions = positions.expand(x.shape[:-1])
    return positions.contiguous().view(-1, n)


def multi_head_rope(x, num_heads, theta, W_q, W_k, W_v, W_o, positions=None):
    """Slide 44: causal multi-head self-attention, queries and keys rotated within each head."""
    lead = x.shape[:-2]
    n, d_model = x.shape[-2:]
    d_head = d_model // num_heads
    pos = batch_positions(positions, x)
    pos = pos.unsqueeze(1)  # one axis for the heads: (B, 1, n)
    x = to_batch(x)
    q_heads = split_heads(project(x, W_q), num_heads)
    k_heads = split_heads(project(x, W_k), num_heads)
    v_heads = split_heads(project(x, W_v), num_heads)
    q_rot = rope(q_heads, pos, d_head, theta)
    k_rot = rope(k_heads, pos, d_head, theta)
    o_heads = attention(q_rot, k_rot, v_heads, causal_mask(n))
    y = project(merge_heads(o_heads), W_o)
    assert y.shape[-1] == d_model
    return y.view(*lead, n, d_model)
