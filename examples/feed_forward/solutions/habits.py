"""Bad habits: functions with right numbers and a side effect or cost that callers cannot accept.

Students see no names of habits. `grader verify` checks that a test catches each.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from . import run_layer_norm, run_rms_norm, run_silu, run_swiglu

Function = Callable[..., Tensor]


class Habit(NamedTuple):
    """A bad habit: its name, and the functions that have it, by exercise."""

    id: str
    variants: Mapping[str, tuple[Function, ...]]


_REFERENCES = {
    "run_layer_norm": run_layer_norm,
    "run_rms_norm": run_rms_norm,
    "run_silu": run_silu,
    "run_swiglu": run_swiglu,
}


def _everywhere(habit: Callable[[Function], Function]) -> dict[str, tuple[Function, ...]]:
    return {name: (habit(right),) for name, right in _REFERENCES.items()}


def _writing_into_the_input(right: Function) -> Function:
    def function(in_features: Tensor, **others: Tensor | float) -> Tensor:
        result = right(in_features=in_features, **others)
        in_features.data.zero_()
        return result

    return function


def _on_the_cpu(right: Function) -> Function:
    def function(**inputs: Tensor | float) -> Tensor:
        result = right(**inputs)
        return result + torch.zeros(result.shape, dtype=result.dtype, device="cpu")

    return function


def _in_float32(right: Function) -> Function:
    return lambda **inputs: right(**inputs).float()


def _detached(right: Function) -> Function:
    return lambda **inputs: right(**inputs).detach()


def _vector_by_vector(right: Function) -> Function:
    def function(in_features: Tensor, **others: Tensor | float) -> Tensor:
        vectors = in_features.reshape(-1, in_features.shape[-1])
        results = [right(in_features=vector, **others) for vector in vectors]
        return torch.stack(results).reshape(in_features.shape)

    return function


def _variance_by_difference(
    in_features: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Tensor:
    mean = in_features.mean(-1, keepdim=True)
    variance = in_features.square().mean(-1, keepdim=True) - mean.square()
    return (in_features - mean) / torch.sqrt(variance + eps) * weight + bias


def _overflowing(in_features: Tensor) -> Tensor:
    return in_features * in_features.exp() / (1 + in_features.exp())


HABITS = (
    Habit("input-changed", _everywhere(_writing_into_the_input)),
    Habit("device-fixed", _everywhere(_on_the_cpu)),
    Habit("dtype-fixed", _everywhere(_in_float32)),
    Habit("gradient-cut", _everywhere(_detached)),
    Habit("loop-over-tokens", _everywhere(_vector_by_vector)),
    Habit("variance-by-difference", {"run_layer_norm": (_variance_by_difference,)}),
    Habit("exponential-overflows", {"run_silu": (_overflowing,)}),
)
