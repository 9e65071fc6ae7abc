"""What known functions would have answered to a call, every number of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.testing.assertions.comparison import Tolerance, all_within, tolerance_for
from grader.testing.observation import Observation, Prediction

# What rounding moves farther than this, relative to its largest number, tells nothing.
_BLURRED = 0.05


@dataclass(frozen=True, slots=True)
class Numbers:
    """A predicted answer, every number of it.

    `rounding` is how far the rounding of the inputs' dtype alone has moved one of them.
    """

    value: torch.Tensor
    rounding: float = 0.0

    @property
    def tells(self) -> bool:
        """Whether rounding leaves enough of the numbers to tell them from others."""
        return not_blurred(self.value, self.rounding)

    def agrees(self, observation: Observation, leniency: float) -> bool:
        """Whether shape and numbers are the same."""
        return same_numbers(observation, observation.value, self.value, self.rounding, leniency)

    def is_like(self, other: Prediction, observation: Observation, leniency: float) -> bool:
        """Whether another prediction for the same call is the same."""
        return isinstance(other, Numbers) and same_numbers(
            observation, other.value, self.value, self.rounding + other.rounding, leniency
        )


def same_numbers(
    observation: Observation,
    seen: torch.Tensor,
    predicted: torch.Tensor,
    rounding: float,
    leniency: float,
) -> bool:
    """Whether numbers `seen` in an answer are those predicted, but for rounding."""
    if seen.shape != predicted.shape:
        return False
    allowed = tolerance_for(observation.value.dtype)
    lenient = Tolerance(allowed.rtol * leniency, (allowed.atol + rounding) * leniency)
    return all_within(seen, predicted, lenient)


def not_blurred(predicted: torch.Tensor, rounding: float) -> bool:
    """Whether rounding leaves enough of predicted numbers to tell them from others."""
    if rounding == 0:
        return True
    finite = predicted[predicted.isfinite()].double()
    return finite.numel() > 0 and rounding <= _BLURRED * float(finite.abs().max())
