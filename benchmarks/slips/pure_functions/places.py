"""Where a token stands: added waves (Vaswani et al.) and turned pairs (Su et al.)."""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from attend import multihead_self
from toolbox import either, interleave, over, pairs, remember


class Rotary(NamedTuple):
    """Settings of RoPE."""

    d_k: int
    theta: float
    max_seq_len: int


class Turn(NamedTuple):
    """A rotation per pair of features: cosines and sines, (..., d_k / 2) each."""

    cos: Tensor
    sin: Tensor


# -- angles ---------------------------------------------------------------------------------


def frequencies(*, width, base):
    """base^(-2i / width) for i = 0, ..., width / 2 - 1"""
    twice_i = torch.arange(0, width, 2, dtype=torch.float64)
    return base ** (-twice_i / width)


def angles(*, length, width, base):
    """(length, width / 2): position times frequency"""
    at = torch.arange(length, dtype=torch.float64)
    return torch.outer(at, frequencies(width=width, base=base))


# -- added to the tokens --------------------------------------------------------------------


def sinusoidal(*, seq_len, d_model, base=10000.0):
    """Sines in the even features, cosines in the odd ones, (seq, d_model)."""
    waves = angles(length=seq_len, width=d_model, base=base)
    return interleave(waves.sin(), waves.cos()).float()


# -- rotary ---------------------------------------------------------------------------------


@remember(key=lambda *, settings: settings)
def turns(*, settings):
    """All rotations that can come up, (max_seq_len, d_k / 2)."""
    d_k, theta, max_seq_len = settings
    phi = angles(length=max_seq_len, width=d_k, base=theta)
    return Turn(cos=phi.cos(), sin=phi.sin())


def turn_at(positions, *, settings, like):
    """The rotations at some positions, with the dtype and on the device of `like`."""
    here = over(lambda table: table.to(like.device)[positions.long()], turns(settings=settings))
    return over(lambda part: part.to(like.dtype), here)


def rotate(x, turn):
    """Each pair (a, b) counter-clockwise to (a cos - b sin, a sin + b cos)."""
    a, b = pairs(x)
    cos, sin = turn
    return interleave(a * cos - b * sin, a * sin + b * cos)


def rope(x, *, positions, settings):
    """x (..., seq, d_k), positions (..., seq)"""
    return rotate(x, turn_at(positions, settings=settings, like=x))


def count_up(x):
    """The positions 0, 1, 2, ... for tokens (..., seq, d)."""
    return torch.arange(x.shape[-2], device=x.device)


def multihead_rope(x, *, weights, heads, theta, max_seq_len, positions=None):
    """Causal multi-head self-attention; queries and keys are turned within each head."""
    settings = Rotary(d_k=heads.width, theta=theta, max_seq_len=max_seq_len)
    at = either(positions, lambda: count_up(x))
    # all heads share the positions, hence an axis of length 1 for them
    turn = partial(rope, positions=at.unsqueeze(-2), settings=settings)
    return multihead_self(x, weights=weights, heads=heads, turn=turn)
