"""Attention for somebody who comes from numpy: axes, swapaxes, moveaxis, where, take."""

import math

import torch


class MultiHeadParams:
    def __init__(self, heads, d_model, w_in, w_out, theta=None):
        self.heads = heads
        self.d_model = d_model
        self.w_in = w_in
        self.w_out = w_out
        self.theta = theta

    @property
    def uses_rope(self):
        return self.theta is not None


def softmax(x, axis=-1):
    shifted = torch.subtract(x, torch.amax(x, axis, keepdims=True))
    e = torch.exp(shifted)
    return torch.divide(e, torch.sum(e, axis, keepdims=True))


def matmul_nt(a, b):
    """a times b transposed, over the last two axes."""
    return torch.matmul(a, torch.swapaxes(b, -1, -2))


def past(n_queries, n_keys, device=None):
    i, j = torch.meshgrid(
        torch.arange(n_queries, device=device), torch.arange(n_keys, device=device), indexing="ij"
    )
    return torch.less_equal(j, i)


def scores(q, k, mask=None):
    s = torch.divide(matmul_nt(q, k), math.sqrt(q.shape[-1]))
    if mask is None:
        return s
    return torch.where(mask, s, -math.inf)


def attention(q, k, v, mask=None):
    return torch.matmul(softmax(scores(q, k, mask)), v)


def project_all(x, weights):
    return [torch.matmul(x, w) for w in weights]


def thin_out(w, p):
    keep = torch.rand(w.shape, device=w.device) > p
    return torch.where(keep, w / (1 - p), torch.zeros_like(w))


def split_heads(x, heads):
    x = torch.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads))
    return torch.moveaxis(x, -2, -3)


def concat_heads(x):
    x = torch.moveaxis(x, -3, -2)
    return torch.reshape(x, (*x.shape[:-2], math.prod(x.shape[-2:])))


def interleave(even, odd):
    """e0, o0, e1, o1, ... along the last axis: stands side by side, then in order of columns."""
    both = torch.concatenate([even, odd], axis=-1)
    width = both.shape[-1]
    order = torch.arange(width, device=both.device)
    source = order // 2 + (order % 2) * (width // 2)
    return torch.index_select(both, -1, source)


def inverse_wavelengths(width, theta):
    i = torch.arange(width // 2, dtype=torch.float64)
    return torch.float_power(theta, -2 * i / width)


def phases(positions, width, theta):
    rates = inverse_wavelengths(width, theta).to(positions.device)
    return torch.multiply(positions[..., None], rates)


def positional_waves(n, width):
    phase = phases(torch.arange(n), width, 10_000)
    return interleave(torch.sin(phase), torch.cos(phase)).to(torch.get_default_dtype())


def rope(x, positions, theta):
    phase = phases(positions, x.shape[-1], theta)
    c, s = torch.cos(phase).to(x.dtype), torch.sin(phase).to(x.dtype)
    pairs = torch.arange(0, x.shape[-1], 2, device=x.device)
    even = torch.index_select(x, -1, pairs)
    odd = torch.index_select(x, -1, pairs + 1)
    return interleave(even * c - odd * s, even * s + odd * c)


def multihead(block, inputs, is_causal, positions=None):
    q, k, v = [
        split_heads(torch.matmul(x, torch.swapaxes(w, 0, 1)), block.heads)
        for x, w in zip(inputs, block.w_in)
    ]
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    if block.uses_rope:
        if positions is None:
            positions = torch.arange(n_queries, device=q.device)
        positions = torch.unsqueeze(positions, -2)
        q = rope(q, positions, block.theta)
        k = rope(k, positions, block.theta)
    mask = past(n_queries, n_keys, q.device) if is_causal else None
    context = concat_heads(attention(q, k, v, mask))
    return torch.matmul(context, torch.swapaxes(block.w_out, 0, 1))
