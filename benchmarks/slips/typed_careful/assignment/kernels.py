"""The arithmetic that knows nothing about heads or positions."""

import math
from typing import Final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .checks import require, require_same_last

NEG_INF: Final[float] = float("-inf")


def softmax(x: Float[Tensor, "..."], *, dim: int) -> Float[Tensor, "..."]:
    require(-x.ndim <= dim < x.ndim, f"no axis {dim} in {tuple(x.shape)}")
    peak: Float[Tensor, "..."] = x.amax(dim=dim, keepdim=True)
    numerator: Float[Tensor, "..."] = (x - peak).exp()
    denominator: Float[Tensor, "..."] = numerator.sum(dim=dim, keepdim=True)
    return numerator / denominator


def causal_mask(size: int, *, device: torch.device | None = None) -> Bool[Tensor, "q k"]:
    require(size > 0, "an empty sequence has no mask")
    index = torch.arange(size, device=device)
    return index[:, None] >= index[None, :]


def similarity(
    q: Float[Tensor, "... q d"], k: Float[Tensor, "... k d"]
) -> Float[Tensor, "... q k"]:
    require_same_last(q, k, "width of queries and keys")
    return q @ k.transpose(-2, -1)


def scaled_scores(
    q: Float[Tensor, "... q d"], k: Float[Tensor, "... k d"]
) -> Float[Tensor, "... q k"]:
    width: int = q.shape[-1]
    scale: float = 1.0 / math.sqrt(width)
    return similarity(q, k) * scale


def hide(
    scores: Float[Tensor, "... q k"], allowed: Bool[Tensor, "... q k"] | None
) -> Float[Tensor, "... q k"]:
    if allowed is None:
        return scores
    require(allowed.dtype == torch.bool, f"mask must be boolean, is {allowed.dtype}")
    return torch.where(allowed, scores, NEG_INF)


def weights(
    q: Float[Tensor, "... q d"],
    k: Float[Tensor, "... k d"],
    allowed: Bool[Tensor, "... q k"] | None = None,
) -> Float[Tensor, "... q k"]:
    shares = softmax(hide(scaled_scores(q, k), allowed), dim=-1)
    assert shares.shape[-1] == k.shape[-2]
    return shares


def attend(
    q: Float[Tensor, "... q d"],
    k: Float[Tensor, "... k d"],
    v: Float[Tensor, "... k dv"],
    allowed: Bool[Tensor, "... q k"] | None = None,
) -> Float[Tensor, "... q dv"]:
    require(k.shape[-2] == v.shape[-2], "one value per key")
    shares: Float[Tensor, "... q k"] = weights(q, k, allowed)
    return shares @ v


def dropout(w: Float[Tensor, "..."], *, p: float, training: bool) -> Float[Tensor, "..."]:
    require(0.0 <= p < 1.0, f"p must lie in [0, 1), is {p}")
    if not training:
        return w
    survival: float = 1.0 - p
    survives: Bool[Tensor, "..."] = torch.rand_like(w) < survival
    return torch.where(survives, w / survival, torch.zeros_like(w))
