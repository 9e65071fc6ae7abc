"""Observations of a submission's answers, and what known functions would have answered instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch

from grader.testing.comparison import Tolerance, all_within, tolerance_for
from grader.verdict import Aspect
from grader.wire.calls import Call

# What rounding moves farther than this, relative to its largest number, tells nothing.
_BLURRED = 0.05


@dataclass(frozen=True, slots=True)
class Observation:
    """A submission's answer to one plain call: the `number`-th of the test `test`.

    An answer may have been `refused` because of its type or shape, before the test saw it. What it
    was compared with is remembered: the same answer may be met again, in another submission.
    """

    test: str
    number: int
    aspect: Aspect
    call: Call
    value: torch.Tensor
    refused: bool = False
    _compared: dict[tuple[int, float], tuple[Prediction, bool]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def is_as(self, prediction: Prediction, leniency: float) -> bool:
        """Whether the answer is the one that was predicted, within so many times the tolerance."""
        key = (id(prediction), leniency)
        if key not in self._compared:
            # Who is kept keeps his identity.
            self._compared[key] = (prediction, prediction.agrees(self, leniency))
        return self._compared[key][1]


class Prediction(Protocol):
    """What a known function answers to a call, in the form in which it is known."""

    @property
    def tells(self) -> bool:
        """Whether agreement with it is evidence."""

    def agrees(self, observation: Observation, leniency: float) -> bool:
        """Whether a submission's answer is this one, within so many times the tolerance."""


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
