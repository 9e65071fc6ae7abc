"""Bad habits: right numbers on ordinary inputs, in a way that callers cannot accept.

Students see no names of habits. `grader verify` checks that a test catches each.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..answers import COMPOSITIONS, Answer, answer
from ..parts import Parts
from ..steps import divide_by_root
from .mistake import MODEL, WHOLE, Way, ways

_WITH_FLOATS = tuple(name for name in COMPOSITIONS if name not in ("run_embedding", MODEL))
_WITH_LEADING_AXES = tuple(
    name for name in COMPOSITIONS if name not in ("run_cross_entropy", MODEL)
)
_WITHOUT_WEIGHTS = ("run_silu", "run_softmax", "run_scaled_dot_product_attention")


class Habit(NamedTuple):
    """A bad habit: its name, and the functions that have it, by exercise."""

    id: str
    variants: Mapping[str, tuple[Answer, ...]]


def _in(exercises: tuple[str, ...], habit: Callable[[Answer], Answer]) -> dict[str, Any]:
    return {name: (habit(answer(name, Parts())),) for name in exercises}


def _tensors(inputs: Mapping[str, Any]) -> list[Tensor]:
    """Returns all tensors among the inputs, those in a dict of weights last."""
    several = [inputs[name] for name in inputs if name != "weights"]
    weights = inputs.get("weights", {})
    several += weights.values() if isinstance(weights, dict) else [weights]
    return [one for one in several if isinstance(one, Tensor)]


def _writing_into_inputs(right: Answer) -> Answer:
    def function(**inputs: Any) -> Tensor:
        result = right(**inputs).clone()
        with torch.no_grad():
            _tensors(inputs)[-1].zero_()
        return result

    return function


def _adding_to_the_weights(right: Answer) -> Answer:
    def function(weights: dict[str, Tensor], **others: Any) -> Tensor:
        result = right(weights=weights, **others)
        weights["rope.frequencies"] = torch.ones(2)
        return result

    return function


def _on_the_cpu(right: Answer) -> Answer:
    def function(**inputs: Any) -> Tensor:
        result = right(**inputs)
        return (result + torch.zeros(1, *result.shape, dtype=result.dtype, device="cpu"))[0]

    return function


def _in_float32(right: Answer) -> Answer:
    return lambda **inputs: right(**inputs).float()


def _detached(right: Answer) -> Answer:
    return lambda **inputs: right(**inputs).detach()


def _number_by_number(right: Answer) -> Answer:
    def function(**inputs: Any) -> Tensor:
        features = max(_tensors(inputs), key=lambda one: one.ndim)
        for number in features.flatten():
            number + 0
        return right(**inputs)

    return function


def _text_by_text(in_indices: Tensor, **others: Any) -> Tensor:
    right = answer(MODEL, Parts())
    return torch.cat([right(in_indices=text[None], **others) for text in in_indices])


def _without_a_batch_of_one(right: Answer) -> Answer:
    def function(**inputs: Any) -> Tensor:
        result = right(**inputs)
        return result.squeeze(0) if result.dim() > 2 else result

    return function


def _alternating(right: Answer) -> Answer:
    calls = itertools.count()
    return lambda **inputs: right(**inputs) * (1 + next(calls) % 2)


def _logarithm_near_zero(inputs: Tensor, targets: Tensor) -> Tensor:
    probabilities = torch.softmax(inputs, dim=-1)
    return -(probabilities.gather(-1, targets[:, None]).squeeze(-1) + 1e-9).log()


def _of_each_pair_of_examples(inputs: Tensor, targets: Tensor) -> Tensor:
    # One number of each example in a row, the other in a column. The mean is the same.
    return torch.logsumexp(inputs, dim=-1) - inputs.gather(-1, targets[:, None])


def _with_another_eps(x: Tensor, squared: Tensor, eps: float) -> Tensor:
    return divide_by_root(x, squared, eps / 10)


def _normalised_as_it_comes(
    d_model: int, eps: float, weights: Tensor, in_features: Tensor
) -> Tensor:
    squared = in_features.square().mean(-1, keepdim=True)
    return (in_features / torch.sqrt(squared + eps) * weights).to(in_features.dtype)


HABITS = (
    Habit("input-changed", _in(tuple(COMPOSITIONS), _writing_into_inputs)),
    Habit("weights-changed", _in(WHOLE, _adding_to_the_weights)),
    Habit("device-fixed", _in((*_WITHOUT_WEIGHTS, "run_cross_entropy"), _on_the_cpu)),
    Habit("dtype-fixed", _in((*_WITHOUT_WEIGHTS, "run_rmsnorm", "run_cross_entropy"), _in_float32)),
    Habit("gradient-cut", _in(_WITH_FLOATS, _detached)),
    Habit("loop-over-tokens", _in((*_WITH_FLOATS, "run_embedding"), _number_by_number)),
    Habit("loop-over-texts", {MODEL: (_text_by_text,)}),
    Habit("batch-of-one-dropped", _in(_WITH_LEADING_AXES, _without_a_batch_of_one)),
    Habit("kept-between-calls", _in(tuple(COMPOSITIONS), _alternating)),
    Habit("half-precision-squared", {"run_rmsnorm": (_normalised_as_it_comes,)}),
    Habit("eps-of-another-size", ways(Way(WHOLE, {"divide_by_root": _with_another_eps}))),
    Habit(
        "logarithm-near-zero",
        ways(Way(("run_cross_entropy",), {"surprise": _logarithm_near_zero})),
    ),
    Habit(
        "pairs-of-examples",
        ways(Way(("run_cross_entropy",), {"surprise": _of_each_pair_of_examples})),
    ),
)
