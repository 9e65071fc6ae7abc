# attention, the short version. shapes in comments: b any lead, h heads, n/m tokens, d features
import math
from functools import lru_cache

import torch
import torch.nn.functional as F


def smax(x, dim=-1):
    z = x - x.max(dim, keepdim=True)[0]
    return (e := z.exp()) / e.sum(dim, keepdim=True)


def drop(x, p=0.0, train=False):
    if not train or p <= 0:
        return x
    u = torch.rand_like(x)
    return x.masked_fill(u < p, 0.0) / (1 - p)


def tri(n, m=None, device=None):
    m = n if m is None else m
    i, j = torch.arange(n, device=device), torch.arange(m, device=device)
    return j[None, :] <= i[:, None]


def bias_of(mask, dtype=torch.float32):
    # True -> 0, False -> -inf, to be added to the logits
    out = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return out.masked_fill(~mask, -torch.inf)


def scores(q, k, scale=None, mask=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s = scale * (q @ k.mT)
    return s if mask is None else s + bias_of(mask, s.dtype)


def weights(q, k, scale=None, mask=None, dim=-1):
    return smax(scores(q, k, scale=scale, mask=mask), dim)


def attend(q, k, v, scale=None, mask=None, causal=False):
    n, m = q.shape[-2], k.shape[-2]
    if causal:
        c = tri(n, m, device=q.device)
        mask = c if mask is None else mask & c
    w = weights(q, k, scale=scale, mask=mask)
    return w @ v


def plain(x):
    return attend(x, x, x, scale=1.0)


def single(x, wq, wk, wv, causal=False, scale=None):
    q, k, v = x @ wq, x @ wk, x @ wv
    return attend(q, k, v, scale=scale, causal=causal)


def stacked(x, wq, wk, wv, causal=True):
    # w: h d_in d_head, every head sees the same x
    xh = x.unsqueeze(-3)
    q, k, v = (xh @ w for w in (wq, wk, wv))
    o = attend(q, k, v, causal=causal)
    return o.movedim(-3, -2).flatten(-2)


# --- heads


def split(x, h):
    return x.unflatten(-1, (h, -1)).transpose(-3, -2)


def merge(x):
    *lead, h, n, d = x.shape
    return x.movedim(-3, -2).reshape(*lead, n, h * d)


def mhsa(x, wqkv, wo, h=1, pos=None, theta=None, n_max=None, causal=True):
    *lead, n, d = x.shape
    q, k, v = torch.chunk(F.linear(x, wqkv), 3, dim=-1)
    q, k, v = (split(t, h) for t in (q, k, v))
    if theta is not None:
        dh = d // h
        pos = torch.arange(n, device=x.device) if pos is None else pos
        cs, sn = table(n_max or n, dh, theta=theta, device=x.device)
        p = pos.unsqueeze(-2)
        q, k = (spin(t, cs[p], sn[p]) for t in (q, k))
    o = attend(q, k, v, causal=causal)
    return F.linear(merge(o), wo)


def mha(xq, xk, xv, wq, wk, wv, wo, h=1, causal=False):
    q = split(F.linear(xq, wq), h)
    k = split(F.linear(xk, wk), h)
    v = split(F.linear(xv, wv), h)
    o = attend(q, k, v, causal=causal)
    return F.linear(merge(o), wo)


def fuse(*ws):
    return torch.cat(ws, dim=0)


def n_params(d_in, d_out, qkv_bias=False, out_bias=False):
    qkv = 3 * d_in * d_out + (3 * d_out if qkv_bias else 0)
    out = d_out * d_out + (d_out if out_bias else 0)
    return qkv + out


# --- positions


def inv_freq(d, theta=10000.0, device=None):
    k = torch.arange(0, d, 2, device=device, dtype=torch.float64)
    return theta ** (-k / d)


@lru_cache(maxsize=32)
def table(n, d, theta=10000.0, device=None):
    t = torch.arange(n, device=device, dtype=torch.float64)
    a = torch.outer(t, inv_freq(d, theta=theta, device=device))
    return a.cos(), a.sin()


def spin(x, cs, sn):
    # pairs (0, 1), (2, 3), ... turned by the angles whose cos and sin come in
    cs, sn = cs.to(x.dtype), sn.to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    y = torch.stack((a * cs - b * sn, b * cs + a * sn), dim=-1)
    return y.flatten(-2)


@lru_cache(maxsize=32)
def phases(n, d, theta=10000.0, device=None):
    t = torch.arange(n, device=device, dtype=torch.float64)
    ang = t[:, None] * inv_freq(d, theta=theta, device=device)
    return torch.polar(torch.ones_like(ang), ang)


def rope(x, pos, theta=10000.0, n_max=2048):
    *lead, n, d = x.shape
    up = torch.float64 if x.dtype == torch.float64 else torch.float32
    z = torch.view_as_complex(x.to(up).reshape(*lead, n, d // 2, 2))
    r = phases(n_max, d, theta=theta, device=x.device)[pos]
    y = torch.view_as_real(z * r.to(z.dtype))
    return y.flatten(-2).to(x.dtype)


def sinusoid(n, d, base=10000.0):
    t = torch.arange(n, dtype=torch.float64)
    ang = torch.outer(t, inv_freq(d, theta=base))
    pe = torch.stack((ang.sin(), ang.cos()), dim=-1)
    return pe.flatten(1).float()
