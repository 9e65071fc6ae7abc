"""Softmax, masks, attention with one head and with many."""

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from toolbox import (
    flip,
    identity,
    linear,
    merge_heads,
    over,
    pipe,
    split_heads,
    times,
    when,
)


class Qkv(NamedTuple):
    """Three of a kind: weights, inputs or projections."""

    query: Tensor
    key: Tensor
    value: Tensor


class Weights(NamedTuple):
    """The four matrices of multi-head attention, each (d_model, d_model)."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor

    @property
    def inputs(self):
        return Qkv(self.query, self.key, self.value)


class Heads(NamedTuple):
    d_model: int
    count: int

    @property
    def width(self):
        return self.d_model // self.count


# -- softmax --------------------------------------------------------------------------------


def normalise(x, *, dim):
    return x / x.sum(dim=dim, keepdim=True)


def softmax(x, *, dim):
    """exp and normalise; the greatest is subtracted first, so that exp never overflows."""
    peak = x.amax(dim=dim, keepdim=True)
    return normalise(torch.exp(x - peak), dim=dim)


over_keys = partial(softmax, dim=-1)


# -- scores and masks -----------------------------------------------------------------------


def dots(q, k):
    """Every query with every key: (..., queries, d), (..., keys, d) -> (..., queries, keys)"""
    return q @ flip(k)


def scale(scores, *, width):
    return scores / math.sqrt(width)


def hide(scores, *, mask):
    """Scores of minus infinity wherever the mask says False."""
    return scores.masked_fill(~mask, float("-inf"))


def causal_mask(seq_len, *, device=None):
    """(seq, seq), True where the key is not later than the query."""
    at = torch.arange(seq_len, device=device)
    query_at, key_at = at[:, None], at[None, :]
    return key_at <= query_at


def causal_for(x):
    """The causal mask for tokens (..., seq, d)."""
    *_, seq_len, _ = x.shape
    return causal_mask(seq_len, device=x.device)


# -- one head -------------------------------------------------------------------------------


def attention_weights(q, k, *, mask=None):
    """softmax(q k^T / sqrt(d_k)) with nothing for the hidden keys."""
    return pipe(
        dots(q, k),
        partial(scale, width=k.shape[-1]),
        when(mask is not None, partial(hide, mask=mask)),
        over_keys,
    )


def attend(q, k, v, *, mask=None):
    return attention_weights(q, k, mask=mask) @ v


def dropout(weights, *, p, training):
    """Inverted dropout: what survives grows by 1 / (1 - p)."""
    if not training:
        return weights
    kept = torch.rand_like(weights) >= p
    return weights * kept / (1 - p)


def simple_self_attention(x):
    """No weights, no scale: a token's context is made of the tokens like it."""
    shares = over_keys(dots(x, x))
    return shares @ x


def self_attention(x, *, weights, causal):
    """weights: Qkv of (..., d_in, d_out) that multiply from the right."""
    q, k, v = over(partial(times, x), weights)
    mask = causal_for(x) if causal else None
    return attend(q, k, v, mask=mask)


# -- many heads -----------------------------------------------------------------------------


def stacked_heads(x, *, weights):
    """weights: Qkv of (heads, d_in, d_head). One axis for the heads, and broadcasting does it."""
    contexts = self_attention(x.unsqueeze(-3), weights=weights, causal=True)
    return merge_heads(contexts)


def project(inputs, *, weights, heads):
    """Queries, keys and values of all heads, (..., heads, seq, d_head) each."""
    split = partial(split_heads, num_heads=heads.count)
    return Qkv(*(split(linear(x, W)) for x, W in zip(inputs, weights.inputs)))


def multihead(inputs, *, weights, heads, causal, turn=identity):
    """Multi-head attention from inputs.query to inputs.key and inputs.value.

    turn: what is done to queries and keys between projection and scores (RoPE, if anything).
    """
    q, k, v = project(inputs, weights=weights, heads=heads)
    mask = causal_for(inputs.query) if causal else None
    return pipe(
        attend(turn(q), turn(k), v, mask=mask),
        merge_heads,
        partial(linear, W=weights.output),
    )


def multihead_self(x, *, weights, heads, turn=identity):
    """The causal case in which one sequence plays all three parts."""
    return multihead(Qkv(x, x, x), weights=weights, heads=heads, causal=True, turn=turn)


# -- counting -------------------------------------------------------------------------------


def layer_size(d_in, d_out, *, bias):
    return d_in * d_out + (d_out if bias else 0)


def parameter_count(*, d_in, d_out, qkv_bias, out_bias):
    into = layer_size(d_in, d_out, bias=qkv_bias)
    out_of = layer_size(d_out, d_out, bias=out_bias)
    return 3 * into + out_of
