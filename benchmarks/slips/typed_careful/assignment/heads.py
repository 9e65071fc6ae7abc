"""Projections, and the way into the heads and back."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .checks import require, require_divides, require_same_last
from .kernels import attend, causal_mask

Matrix = Float[Tensor, "d_out d_in"]
Heads = Float[Tensor, "... heads seq d_head"]


class Projections(NamedTuple):
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix


class QKV(NamedTuple):
    q: Tensor
    k: Tensor
    v: Tensor


def linear(x: Float[Tensor, "... d_in"], weight: Matrix) -> Float[Tensor, "... d_out"]:
    require_same_last(x, weight, "width of input and weight")
    return x @ weight.T


def split(x: Float[Tensor, "... seq d"], *, heads: int) -> Heads:
    *lead, seq, width = x.shape
    require_divides(heads, width)
    cut = x.reshape(*lead, seq, heads, width // heads)
    return cut.movedim(-2, -3)


def merge(x: Heads) -> Float[Tensor, "... seq d"]:
    *lead, heads, seq, d_head = x.shape
    tokens_first = x.movedim(-3, -2)
    assert tokens_first.shape[-3:] == (seq, heads, d_head)
    return tokens_first.reshape(*lead, seq, heads * d_head)


def project_right(
    x: Float[Tensor, "... seq d_in"],
    W_q: Float[Tensor, "d_in d_out"],
    W_k: Float[Tensor, "d_in d_out"],
    W_v: Float[Tensor, "d_in d_out"],
) -> QKV:
    require(x.shape[-1] == W_q.shape[0], "weights multiply from the right")
    return QKV(q=x @ W_q, k=x @ W_k, v=x @ W_v)


def single_head(qkv: QKV, *, causal: bool) -> Float[Tensor, "... seq d_out"]:
    seq: int = qkv.q.shape[-2]
    allowed = causal_mask(seq, device=qkv.q.device) if causal else None
    return attend(qkv.q, qkv.k, qkv.v, allowed)


def stacked_heads(
    x: Float[Tensor, "... seq d_in"],
    W_q: Float[Tensor, "heads d_in d_head"],
    W_k: Float[Tensor, "heads d_in d_head"],
    W_v: Float[Tensor, "heads d_in d_head"],
) -> Float[Tensor, "... seq heads*d_head"]:
    require(W_q.shape == W_k.shape == W_v.shape, "one matrix per head and role")
    outputs: list[Tensor] = [
        single_head(project_right(x, q, k, v), causal=True)
        for q, k, v in zip(W_q, W_k, W_v, strict=True)
    ]
    return torch.cat(outputs, dim=-1)


def multihead(
    query: Float[Tensor, "... q d"],
    key: Float[Tensor, "... k d"],
    value: Float[Tensor, "... k d"],
    w: Projections,
    *,
    heads: int,
    causal: bool = False,
    rotate: Callable[[Heads], Heads] | None = None,
) -> Float[Tensor, "... q d"]:
    q: Heads = split(linear(query, w.query), heads=heads)
    k: Heads = split(linear(key, w.key), heads=heads)
    v: Heads = split(linear(value, w.value), heads=heads)
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    allowed: Bool[Tensor, "q k"] | None = None
    if causal:
        require(q.shape[-2] == k.shape[-2], "causal needs as many keys as queries")
        allowed = causal_mask(q.shape[-2], device=q.device)
    context: Heads = attend(q, k, v, allowed)
    return linear(merge(context), w.output)


def count_parameters(d_in: int, d_out: int, *, qkv_bias: bool, out_bias: bool) -> int:
    require(d_in > 0 and d_out > 0, "sizes are positive")

    def layer(n_in: int, n_out: int, bias: bool) -> int:
        return n_in * n_out + (n_out if bias else 0)

    projections: int = 3 * layer(d_in, d_out, qkv_bias)
    output: int = layer(d_out, d_out, out_bias)
    return projections + output
