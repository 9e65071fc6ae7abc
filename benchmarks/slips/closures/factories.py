"""Everything is built by a function that remembers what it was given."""

import math

import torch


def make_softmax(dim):
    def softmax(x):
        top = x.max(dim=dim, keepdim=True).values
        grown = torch.exp(x - top)
        return grown / grown.sum(dim=dim, keepdim=True)

    return softmax


def make_hiding(allowed=None):
    """A function that hides the scores which are not allowed."""
    if allowed is None:
        return lambda scores: scores

    def hide(scores):
        return scores.masked_fill(~allowed, -math.inf)

    return hide


def make_causal(seq_len, device=None):
    row = torch.arange(seq_len, device=device)[:, None]
    column = torch.arange(seq_len, device=device)
    return row >= column


def make_weights(d_k, allowed=None, scaled=True):
    factor = d_k**-0.5 if scaled else 1.0
    hide = make_hiding(allowed)
    share_out = make_softmax(-1)

    def weights(q, k):
        scores = torch.matmul(q, k.transpose(-2, -1)) * factor
        return share_out(hide(scores))

    return weights


def make_attention(d_k, allowed=None, scaled=True):
    weights = make_weights(d_k, allowed, scaled)

    def attend(q, k, v):
        return torch.matmul(weights(q, k), v)

    return attend


def make_projection(W_query, W_key, W_value):
    def project(x):
        return x @ W_query, x @ W_key, x @ W_value

    return project


def make_linear(weight):
    def linear(x):
        return x @ weight.T

    return linear


def make_splitter(num_heads):
    def split(x):
        width = x.shape[-1] // num_heads
        pieces = x.reshape(*x.shape[:-1], num_heads, width)
        return pieces.transpose(-3, -2)

    return split


def merge(heads):
    side_by_side = heads.transpose(-3, -2)
    return side_by_side.flatten(start_dim=-2)


def make_dropout(p, training):
    if not training or p == 0:
        return lambda weights: weights

    keep = 1 - p

    def drop(weights):
        dice = torch.rand_like(weights, dtype=torch.float32)
        survivors = dice < keep
        return torch.where(survivors, weights / keep, torch.zeros_like(weights))

    return drop


def make_rotation(d_k, theta, max_seq_len, device=None):
    """A function that turns pairs, with tables for all positions below max_seq_len."""
    exponents = torch.arange(0, d_k, 2, device=device) / d_k
    speeds = theta**-exponents
    angles = torch.arange(max_seq_len, device=device)[:, None] * speeds
    cos_table, sin_table = angles.cos(), angles.sin()

    def turn(x, positions):
        cos = cos_table[positions].to(x.dtype)
        sin = sin_table[positions].to(x.dtype)
        even, odd = x[..., 0::2], x[..., 1::2]
        new_even = even * cos - odd * sin
        new_odd = even * sin + odd * cos
        return torch.stack((new_even, new_odd), dim=-1).flatten(start_dim=-2)

    return turn


def make_multihead(num_heads, w_q, w_k, w_v, w_o, turn=None):
    """A function of queries, keys and values, causal or not."""
    to_q, to_k, to_v, to_out = map(make_linear, (w_q, w_k, w_v, w_o))
    split = make_splitter(num_heads)
    d_head = w_q.shape[0] // num_heads

    def multihead(query, key, value, allowed=None):
        q, k, v = split(to_q(query)), split(to_k(key)), split(to_v(value))
        if turn is not None:
            q, k = turn(q), turn(k)
        attend = make_attention(d_head, allowed)
        return to_out(merge(attend(q, k, v)))

    return multihead


def make_sinusoids(d_model, base=10_000.0):
    exponents = torch.arange(0, d_model, 2) / d_model
    periods = base**exponents

    def encode(seq_len):
        angles = torch.arange(seq_len)[:, None] / periods
        table = torch.empty(seq_len, d_model)
        table[:, 0::2] = torch.sin(angles)
        table[:, 1::2] = torch.cos(angles)
        return table

    return encode
