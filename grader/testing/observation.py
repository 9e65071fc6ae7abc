"""A submission's answers, kept to be compared with what others would have answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call


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


@dataclass(frozen=True, slots=True)
class Question:
    """A plain call of a test, the `number`-th, to which there may be a right answer."""

    test: str
    number: int
    aspect: Aspect
    call: Call


class Prediction(Protocol):
    """What a known function answers to a call, in the form in which it is known."""

    @property
    def tells(self) -> bool:
        """Whether agreement with it is evidence."""

    def agrees(self, observation: Observation, leniency: float) -> bool:
        """Whether a submission's answer is this one, within so many times the tolerance."""

    def is_like(self, other: Prediction, observation: Observation, leniency: float) -> bool:
        """Whether another prediction for the same call is this one, within as much."""
