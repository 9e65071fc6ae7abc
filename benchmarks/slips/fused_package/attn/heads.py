import torch

from attn.core import attend, causal_mask
from attn.rotary import rotate


def one_head(w_q, w_k, w_v, x, is_causal=False):
    w = torch.cat((w_q, w_k, w_v), dim=1)
    q, k, v = (x @ w).chunk(3, dim=-1)
    mask = None
    if is_causal:
        mask = causal_mask(x.shape[-2], x.device)
    return attend(q, k, v, mask)


def fuse(w_q, w_k, w_v):
    """One (3 * d_model, d_model) weight from three (d_model, d_model)."""
    return torch.cat([w_q, w_k, w_v], dim=0)


def to_heads(x, num_heads):
    *batch, seq, width = x.shape
    x = x.view(*batch, seq, num_heads, width // num_heads)
    return x.movedim(-2, -3)


def from_heads(x):
    *batch, num_heads, seq, d_head = x.shape
    x = x.movedim(-3, -2)
    return x.reshape(*batch, seq, num_heads * d_head)


def self_attention(x, qkv, w_out, num_heads, angles=None):
    q, k, v = (x @ qkv.T).chunk(3, dim=-1)
    q = to_heads(q, num_heads)
    k = to_heads(k, num_heads)
    v = to_heads(v, num_heads)
    if angles is not None:
        angles = angles.unsqueeze(-3)
        q, k = rotate(q, angles), rotate(k, angles)
    mask = causal_mask(x.shape[-2], x.device)
    out = from_heads(attend(q, k, v, mask))
    return out @ w_out.T


def cross_attention(query, key, value, qkv, w_out, num_heads, is_causal):
    w_q, w_k, w_v = qkv.chunk(3)
    q = to_heads(query @ w_q.T, num_heads)
    k = to_heads(key @ w_k.T, num_heads)
    v = to_heads(value @ w_v.T, num_heads)
    if is_causal:
        out = attend(q, k, v, causal_mask(query.shape[-2], query.device))
    else:
        out = attend(q, k, v)
    return from_heads(out) @ w_out.T


def parameter_count(d_in, d_out, qkv_bias, out_bias):
    fused = d_in * 3 * d_out
    out = d_out * d_out
    if qkv_bias:
        fused += 3 * d_out
    if out_bias:
        out += d_out
    return fused + out
