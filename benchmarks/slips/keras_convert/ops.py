"""keras.ops, the few of them I need, on torch."""

import torch


def shape(x):
    return tuple(x.shape)


def reshape(x, newshape):
    return torch.reshape(x, newshape)


def concatenate(xs, axis=-1):
    return torch.cat(xs, dim=axis)


def swap_last_axes(x):
    return torch.swapaxes(x, -1, -2)


def matmul(x1, x2, transpose_b=False):
    """Like tf.linalg.matmul."""
    if transpose_b:
        x2 = swap_last_axes(x2)
    return torch.matmul(x1, x2)


def softmax(x, axis=-1):
    x = x - torch.amax(x, dim=axis, keepdim=True)
    exps = torch.exp(x)
    return exps / torch.sum(exps, dim=axis, keepdim=True)


def causal_mask(length, device=None):
    i = torch.arange(length, device=device)[:, None]
    j = torch.arange(length, device=device)[None, :]
    return i >= j


def dropout(x, rate):
    keep_prob = 1.0 - rate
    keep = torch.rand(x.shape, dtype=x.dtype, device=x.device) >= rate
    return torch.where(keep, x / keep_prob, torch.zeros_like(x))


def separate_heads(x, num_heads):
    """(..., seq, units) -> (..., heads, seq, units // heads)"""
    *lead, seq, units = shape(x)
    x = reshape(x, (*lead, seq, num_heads, units // num_heads))
    return torch.swapaxes(x, -3, -2)


def combine_heads(x):
    """(..., heads, seq, key_dim) -> (..., seq, heads * key_dim)"""
    x = torch.swapaxes(x, -3, -2)
    *lead, seq, heads, key_dim = shape(x)
    return reshape(x, (*lead, seq, heads * key_dim))
