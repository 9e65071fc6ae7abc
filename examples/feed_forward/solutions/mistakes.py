"""Known mistakes: wrong code that people write instead of the references.

A submission whose answers equal a mistake's, case by case, gets the mistake's name, explanation and
hint. `grader verify` checks that the tests catch each mistake and name it right.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from . import run_layer_norm, run_rms_norm, run_silu, run_swiglu
from .habits import HABITS

__all__ = ["HABITS", "MISTAKES", "Mistake"]

Function = Callable[..., Tensor]


class Mistake(NamedTuple):
    """A mistake's explanation, its hint, and the functions that make it, by exercise.

    Several functions of one exercise are several ways of making the same mistake. They are called
    as adapters are: by keyword.
    """

    id: str
    explanation: str
    hint: str
    variants: Mapping[str, tuple[Function, ...]]


# --- Norms --------------------------------------------------------------------------------------


def _normalised(x: Tensor, mean: Tensor | float, divisor: Tensor) -> Tensor:
    return (x - mean) / divisor


def _unbiased(in_features: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    mean, d = in_features.mean(-1, keepdim=True), in_features.shape[-1]
    variance = (in_features - mean).square().sum(-1, keepdim=True) / (d - 1)
    return _normalised(in_features, mean, torch.sqrt(variance + eps)) * weight + bias


def _layer_norm_beside(in_features: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    mean = in_features.mean(-1, keepdim=True)
    deviation = in_features.std(-1, keepdim=True, correction=0)
    return _normalised(in_features, mean, deviation + eps) * weight + bias


def _rms_norm_beside(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    root = in_features.square().mean(-1, keepdim=True).sqrt()
    return _normalised(in_features, 0.0, root + eps) * weight


def _layer_norm_without_root(
    in_features: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Tensor:
    mean = in_features.mean(-1, keepdim=True)
    variance = in_features.var(-1, keepdim=True, correction=0)
    return _normalised(in_features, mean, variance + eps) * weight + bias


def _rms_norm_without_root(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    mean_square = in_features.square().mean(-1, keepdim=True)
    return _normalised(in_features, 0.0, mean_square + eps) * weight


def _layer_norm_over_tokens(
    in_features: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Tensor:
    mean = in_features.mean(-2, keepdim=True)
    variance = in_features.var(-2, keepdim=True, correction=0)
    return _normalised(in_features, mean, torch.sqrt(variance + eps)) * weight + bias


def _rms_norm_over_tokens(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    mean_square = in_features.square().mean(-2, keepdim=True)
    return _normalised(in_features, 0.0, torch.sqrt(mean_square + eps)) * weight


def _uncentred(in_features: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return run_rms_norm(in_features, weight, eps) + bias


def _centred(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    return run_layer_norm(in_features, weight, torch.zeros_like(weight), eps)


def _summed(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    return in_features / torch.sqrt(in_features.square().sum(-1, keepdim=True) + eps) * weight


def _without_shift(in_features: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return run_layer_norm(in_features, weight, torch.zeros_like(bias), eps)


def _layer_norm_without_gain(
    in_features: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Tensor:
    return run_layer_norm(in_features, torch.ones_like(weight), bias, eps)


def _rms_norm_without_gain(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    return run_rms_norm(in_features, torch.ones_like(weight), eps)


# --- The feed-forward layer ---------------------------------------------------------------------


def _relu(in_features: Tensor) -> Tensor:
    return in_features.clamp(min=0)


def _gelu(in_features: Tensor) -> Tensor:
    return torch.nn.functional.gelu(in_features)


def _quick_gelu(in_features: Tensor) -> Tensor:
    return in_features * torch.sigmoid(1.702 * in_features)


def _sigmoid(in_features: Tensor) -> Tensor:
    return torch.sigmoid(in_features)


def _unchanged(in_features: Tensor) -> Tensor:
    return in_features


def _gated_by(activation: Function) -> Function:
    """Returns the feed-forward layer with another activation."""

    def swiglu(
        gate_weight: Tensor, up_weight: Tensor, down_weight: Tensor, in_features: Tensor
    ) -> Tensor:
        gate = activation(in_features @ gate_weight.T)
        return (gate * (in_features @ up_weight.T)) @ down_weight.T

    return swiglu


def _ungated(
    gate_weight: Tensor, down_weight: Tensor, in_features: Tensor, **_up_weight: Tensor
) -> Tensor:
    return run_silu(in_features @ gate_weight.T) @ down_weight.T


def _gate_swapped(
    gate_weight: Tensor, up_weight: Tensor, down_weight: Tensor, in_features: Tensor
) -> Tensor:
    return run_swiglu(up_weight, gate_weight, down_weight, in_features)


def _gate_added(
    gate_weight: Tensor, up_weight: Tensor, down_weight: Tensor, in_features: Tensor
) -> Tensor:
    gate = run_silu(in_features @ gate_weight.T)
    return (gate + in_features @ up_weight.T) @ down_weight.T


def _transposed(
    gate_weight: Tensor, up_weight: Tensor, down_weight: Tensor, in_features: Tensor
) -> Tensor:
    return run_swiglu(gate_weight.T, up_weight.T, down_weight.T, in_features)


MISTAKES = (
    Mistake(
        "variance-unbiased",
        "Your variance divides by d - 1, but it should divide by d.",
        "Does `torch.var` divide by n or by n - 1 unless it is told otherwise?",
        {"run_layer_norm": (_unbiased,)},
    ),
    Mistake(
        "eps-outside-root",
        "You add eps to the root, but it belongs under it.",
        "For features of 0, how large is sqrt(0 + eps), and how large is sqrt(0) + eps?",
        {"run_layer_norm": (_layer_norm_beside,), "run_rms_norm": (_rms_norm_beside,)},
    ),
    Mistake(
        "root-missing",
        "You divide by the mean of the squares instead of its root.",
        "If every feature doubles, how should the result change?",
        {"run_layer_norm": (_layer_norm_without_root,), "run_rms_norm": (_rms_norm_without_root,)},
    ),
    Mistake(
        "norm-over-tokens",
        "You average over the tokens, but each token should be normalised on its own.",
        "Which axis holds the features of one token?",
        {"run_layer_norm": (_layer_norm_over_tokens,), "run_rms_norm": (_rms_norm_over_tokens,)},
    ),
    Mistake(
        "mean-kept",
        "Your layer norm does not subtract the mean.",
        "Which mean does your result have before the shift?",
        {"run_layer_norm": (_uncentred,)},
    ),
    Mistake(
        "mean-subtracted",
        "Your root mean square norm subtracts the mean, which only a layer norm does.",
        "Does the word mean appear in the formula anywhere but under the root?",
        {"run_rms_norm": (_centred,)},
    ),
    Mistake(
        "sum-for-mean",
        "You sum the squares, but they should be averaged.",
        "Which root mean square does a vector of ones have?",
        {"run_rms_norm": (_summed,)},
    ),
    Mistake(
        "gain-missing",
        "The gain of each feature has no effect on your result.",
        "Where is `weight` in your code?",
        {"run_layer_norm": (_layer_norm_without_gain,), "run_rms_norm": (_rms_norm_without_gain,)},
    ),
    Mistake(
        "shift-missing",
        "The shift of each feature has no effect on your result.",
        "Where is `bias` in your code?",
        {"run_layer_norm": (_without_shift,)},
    ),
    Mistake(
        "relu-for-silu",
        "Your activation is a ReLU.",
        "Which value does a SiLU have at -1?",
        {"run_silu": (_relu,), "run_swiglu": (_gated_by(_relu),)},
    ),
    Mistake(
        "gelu-for-silu",
        "Your activation is a GELU instead of a SiLU.",
        "Which function of x is the second factor?",
        {
            "run_silu": (_gelu, _quick_gelu),
            "run_swiglu": (_gated_by(_gelu), _gated_by(_quick_gelu)),
        },
    ),
    Mistake(
        "sigmoid-for-silu",
        "Your activation is the sigmoid alone.",
        "By what is the sigmoid multiplied?",
        {"run_silu": (_sigmoid,), "run_swiglu": (_gated_by(_sigmoid),)},
    ),
    Mistake(
        "activation-missing",
        "Neither projection goes through the activation.",
        "Without it, what is your layer when the features double?",
        {"run_swiglu": (_gated_by(_unchanged),)},
    ),
    Mistake(
        "gate-missing",
        "Only one projection goes into your result: nothing gates it.",
        "How many projections up does the formula have?",
        {"run_swiglu": (_ungated,)},
    ),
    Mistake(
        "gate-swapped",
        "The activation is on the wrong one of the two projections.",
        "Which weight's projection does the SiLU stand around?",
        {"run_swiglu": (_gate_swapped,)},
    ),
    Mistake(
        "gate-added",
        "You add the two projections, but they should be multiplied.",
        "Which result do you expect where the gate is 0?",
        {"run_swiglu": (_gate_added,)},
    ),
    Mistake(
        "projection-transposed",
        "You multiply by the weights without transposing them.",
        "`torch.nn.Linear` computes `x @ W.T`: what does your code compute?",
        {"run_swiglu": (_transposed,)},
    ),
)

BUILDS_ON = {"run_swiglu": ("run_silu",)}
