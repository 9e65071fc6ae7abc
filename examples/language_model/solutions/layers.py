"""Model answers on the layers: linear, embedding, SiLU, SwiGLU, norm and softmax."""

import torch
from torch import Tensor

from .parts import Parts


def linear(parts: Parts, d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Multiplies each vector by one matrix."""
    return parts.multiply(in_features, weights)


def embedding(
    parts: Parts, vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor
) -> Tensor:
    """Looks up the vector of each token."""
    return parts.look_up(weights, token_ids)


def silu(parts: Parts, in_features: Tensor) -> Tensor:
    """Multiplies each number by its own sigmoid."""
    return parts.activate(in_features)


def swiglu(
    parts: Parts,
    d_model: int,
    d_ff: int,
    w1_weight: Tensor,
    w2_weight: Tensor,
    w3_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Projects up twice, lets one projection gate the other, and projects back."""
    w1, w2, w3 = parts.feed_weights_in_order(w1_weight, w2_weight, w3_weight)
    opened = parts.step("gate", parts.activate(in_features @ w1.T))
    gated = parts.step("gated", parts.gate(opened, in_features @ w3.T))
    return gated @ w2.T


def rmsnorm(parts: Parts, d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Divides each vector by its root mean square, then scales it."""
    precise = in_features.to(torch.promote_types(in_features.dtype, torch.float32))
    squared = parts.step("mean square", parts.mean_square(precise))
    normalised = parts.step("normalised", parts.divide_by_root(precise, squared, eps))
    return parts.gain(normalised, weights).to(in_features.dtype)


def softmax(parts: Parts, in_features: Tensor, dim: int) -> Tensor:
    """Turns the numbers along `dim` into positive shares that sum to 1."""
    return parts.softmax(in_features, dim)
