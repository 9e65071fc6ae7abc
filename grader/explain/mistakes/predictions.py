"""Predictions as rows of numbers, which can be frozen: a sample of each answer."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.explain.mistakes.chance import Dropped
from grader.explain.mistakes.prediction import Numbers, not_blurred, same_numbers
from grader.testing.frozen_cases import SAMPLE, sample
from grader.testing.observation import Observation, Prediction

# A row holds the sizes of the answer's axes (-1 for those that it lacks), the sample, how far
# rounding has moved a number, and 1 if there is an answer at all.
_AXES = 8
_WIDTH = _AXES + SAMPLE + 2


@dataclass(frozen=True, slots=True)
class Sampled:
    """A predicted answer of which the shape and a few numbers are known."""

    numbers: torch.Tensor
    rounding: float

    @property
    def tells(self) -> bool:
        """Whether rounding leaves enough of the numbers to tell them from others."""
        return not_blurred(self.numbers[_AXES:], self.rounding)

    def agrees(self, observation: Observation, leniency: float) -> bool:
        """Whether shape and sampled numbers are the same."""
        seen = _sampled(observation.value)
        return same_numbers(observation, seen, self.numbers, self.rounding, leniency)

    def is_like(self, other: Prediction, observation: Observation, leniency: float) -> bool:
        """Whether another prediction for the same call is the same."""
        return isinstance(other, Sampled) and same_numbers(
            observation, other.numbers, self.numbers, self.rounding + other.rounding, leniency
        )


def row_of(prediction: Prediction | None) -> torch.Tensor:
    """A prediction as a row."""
    row = torch.zeros(_WIDTH)
    if isinstance(prediction, Numbers):
        row[:-2], row[-2], row[-1] = _sampled(prediction.value), prediction.rounding, 1
    elif isinstance(prediction, Dropped):
        seen = (prediction.factor, prediction.share, prediction.rows, prediction.fates)
        row[: len(seen)], row[-1] = torch.tensor(seen), 1
    return row


def prediction_of(row: torch.Tensor, dropped_from: str | None) -> Prediction | None:
    """The prediction in a row; of an exercise of chance, if it says what entries are dropped of."""
    if not row[-1]:
        return None
    if dropped_from is None:
        return Sampled(row[:-2], float(row[-2]))
    factor, share, rows, fates = row[:4].tolist()
    return Dropped(dropped_from, factor, share, bool(rows), int(fates))


def _sampled(answer: torch.Tensor) -> torch.Tensor:
    sizes = torch.full((_AXES,), -1.0, dtype=torch.float64)
    shape = torch.tensor(answer.shape[:_AXES], dtype=torch.float64)
    sizes[: len(shape)] = shape
    return torch.cat((sizes, sample(answer)))
