"""Pure functions of single examples; torch.vmap adds heads and batches, weights travel in a dict."""

import math
from functools import partial

import torch
from torch import vmap


def softmax(x, axis=-1):
    m = torch.amax(x, dim=axis, keepdim=True)
    z = torch.exp(x - m)
    return z / torch.sum(z, dim=axis, keepdim=True)


def causal(n, device=None):
    i = torch.arange(n, device=device)
    return i[:, None] >= i[None, :]


def weights(q, k, mask=None, scale=None):
    """(q, d), (k, d) -> (q, k)"""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = (q @ k.mT) * scale
    if mask is not None:
        logits = torch.where(mask, logits, -math.inf)
    return softmax(logits)


def attend(q, k, v, mask=None, scale=None):
    return weights(q, k, mask, scale) @ v


def batched(f, *args, shared=()):
    """Maps f over all leading axes of its (n, d) arguments; what is shared stays whole."""
    lead = args[0].shape[:-2]
    flat = [a.reshape(-1, *a.shape[len(lead):]) for a in args]
    out = vmap(lambda *one: f(*one, *shared))(*flat)
    return out.reshape(*lead, *out.shape[1:])


# --- one head, one sequence ---------------------------------------------------------------------


def single_head(x, w_q, w_k, w_v, mask):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return attend(q, k, v, mask)


def stacked(x, w_q, w_k, w_v):
    mask = causal(x.shape[-2], x.device)
    per_head = vmap(single_head, in_dims=(None, 0, 0, 0, None), out_dims=1)
    return per_head(x, w_q, w_k, w_v, mask).flatten(-2)


# --- many heads, one sequence -------------------------------------------------------------------


def init(q, k, v, o, heads):
    """Projections by head: (heads, d_head, d_model), and the output (d_model, heads, d_head)."""
    split = partial(torch.unflatten, sizes=(heads, -1))
    return {"q": split(q, 0), "k": split(k, 0), "v": split(v, 0), "o": split(o, 1)}


def head(params, query, key, value, mask, rotate):
    q = query @ params["q"].T
    k = key @ params["k"].T
    v = value @ params["v"].T
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    return attend(q, k, v, mask)


def multi_head(params, query, key, value, mask=None, rotate=None):
    inner = {name: params[name] for name in ("q", "k", "v")}
    run = lambda one: head(one, query, key, value, mask, rotate)
    out = vmap(run)(inner)
    return torch.einsum("hnd,ohd->no", out, params["o"])


# --- positions ----------------------------------------------------------------------------------


def frequencies(d, theta, device=None):
    k = torch.arange(d // 2, dtype=torch.float64, device=device)
    return theta ** (-2 * k / d)


def rotate_pair(pair, angle):
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack((c * pair[0] - s * pair[1], s * pair[0] + c * pair[1]))


def rotate_vector(x, position, freqs):
    pairs = x.unflatten(-1, (-1, 2))
    return vmap(rotate_pair)(pairs, position * freqs).flatten()


def rope(x, positions, theta):
    """(n, d), (n,) -> (n, d)"""
    freqs = frequencies(x.shape[-1], theta, x.device)
    rotated = vmap(rotate_vector, in_dims=(0, 0, None))(x, positions, freqs)
    return rotated.to(x.dtype)


def encode(position, d):
    angles = position * frequencies(d, 10000.0)
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=1).flatten()


def sinusoidal(n, d):
    table = vmap(partial(encode, d=d))(torch.arange(n))
    return table.to(torch.get_default_dtype())


# --- the rest -----------------------------------------------------------------------------------


def dropout(x, p, training):
    if not training:
        return x.clone()
    keep = torch.rand(x.shape, dtype=x.dtype, device=x.device).ge(p)
    return torch.where(keep, x / (1 - p), 0.0)


def n_params(shapes):
    return sum(math.prod(shape) for shape in shapes.values())


def shapes(d_in, d_out, qkv_bias, out_bias):
    tree = {name: (d_out, d_in) for name in ("q", "k", "v")}
    tree["o"] = (d_out, d_out)
    if qkv_bias:
        tree |= {f"b_{name}": (d_out,) for name in ("q", "k", "v")}
    if out_bias:
        tree |= {"b_o": (d_out,)}
    return tree
