"""The references: right answers to every adapter, by the same names and parameters.

The grader calls them with float64 tensors. `mistakes` holds the known mistakes.
"""

import torch
from torch import Tensor


def run_layer_norm(in_features: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Centres each vector, divides it by its standard deviation, then scales and shifts it."""
    centred = in_features - in_features.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias


def run_rms_norm(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Divides each vector by its root mean square, then scales it."""
    mean_square = in_features.square().mean(-1, keepdim=True)
    return in_features / torch.sqrt(mean_square + eps) * weight


def run_silu(in_features: Tensor) -> Tensor:
    """Multiplies each number by its own sigmoid."""
    return in_features * torch.sigmoid(in_features)


def run_swiglu(
    gate_weight: Tensor, up_weight: Tensor, down_weight: Tensor, in_features: Tensor
) -> Tensor:
    """Projects up twice, lets one projection gate the other, and projects back."""
    gate = run_silu(in_features @ gate_weight.T)
    return (gate * (in_features @ up_weight.T)) @ down_weight.T
