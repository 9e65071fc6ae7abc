"""Plumbing. Composes functions, maps them over bundles, moves axes; knows nothing of attention.

Nothing in here (or in the two other modules) changes an argument.
"""

from functools import partial, reduce, wraps

import torch


# -- functions ------------------------------------------------------------------------------


def identity(x):
    return x


def compose(*fs):
    """compose(f, g, h)(x) is f(g(h(x)))."""
    return reduce(lambda f, g: lambda *args: f(g(*args)), fs, identity)


def pipe(x, *fs):
    """pipe(x, f, g, h) is h(g(f(x))): reads in the order in which things happen."""
    return reduce(lambda value, f: f(value), fs, x)


def when(condition, f):
    """f where the condition holds, else the function that does nothing."""
    return f if condition else identity


def either(value, fallback):
    """The value, or what fallback() makes where there is none."""
    return fallback() if value is None else value


def over(f, bundle):
    """Map f over the fields of a NamedTuple; the result is a bundle of the same kind."""
    return type(bundle)(*map(f, bundle))


def remember(key):
    """Memoise a function of keyword arguments under key(**kwargs)."""

    def decorate(f):
        seen = {}

        @wraps(f)
        def remembered(**kwargs):
            name = key(**kwargs)
            if name not in seen:
                seen[name] = f(**kwargs)
            return seen[name]

        return remembered

    return decorate


# -- axes -----------------------------------------------------------------------------------


def flip(x):
    """Swap the last two axes: what .T means for a matrix, under any number of leading axes."""
    return x.transpose(-2, -1)


def swap_heads(x):
    """(..., seq, heads, d) <-> (..., heads, seq, d); it is its own inverse."""
    return x.transpose(-3, -2)


def cut(x, *, parts):
    """(..., parts * n) -> (..., parts, n)"""
    return x.unflatten(-1, (parts, -1))


def glue(x):
    """(..., m, n) -> (..., m * n)"""
    return x.flatten(start_dim=-2)


def split_heads(x, *, num_heads):
    """(..., seq, heads * d_head) -> (..., heads, seq, d_head)"""
    return pipe(x, partial(cut, parts=num_heads), swap_heads)


# (..., heads, seq, d_head) -> (..., seq, heads * d_head)
merge_heads = compose(glue, swap_heads)


def pairs(x):
    """(..., 2n) -> the even and the odd features, (..., n) each"""
    return x[..., 0::2], x[..., 1::2]


def interleave(even, odd):
    """The inverse of pairs: (..., n) twice -> (..., 2n)"""
    return glue(torch.stack((even, odd), dim=-1))


# -- products -------------------------------------------------------------------------------


def times(x, W):
    """The matrix from the right, x W."""
    return x @ W


def linear(x, W):
    """The matrix as torch.nn.Linear keeps it, (d_out, d_in)."""
    return x @ flip(W)
