"""Predicted answers of known mistakes: all values, samples or dropouts, and their frozen rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.core.wire.calls import Call
from grader.testing.cases import SAMPLE, sample
from grader.testing.comparison import Tolerance, all_within, tolerance_for
from grader.testing.outcome import Observation, Prediction

# If rounding moves an answer by more than this part of its maximum, the answer tells nothing.
_BLURRED = 0.05


@dataclass(frozen=True, slots=True)
class Numbers:
    """A predicted answer with all its values, or with a sample of them.

    `rounding` is how far rounding in the inputs' dtype alone moves a value. If `value` is a
    `sample` of an answer, `shape` is the shape of that answer. Otherwise it is None.
    """

    value: torch.Tensor
    rounding: float = 0.0
    shape: tuple[int, ...] | None = None

    @property
    def tells(self) -> bool:
        """Returns whether rounding is small beside the largest of the values."""
        if self.rounding == 0:
            return True
        finite = self.value[self.value.isfinite()].double()
        return finite.numel() > 0 and self.rounding <= _BLURRED * float(finite.abs().max())

    def agrees(self, observation: Observation, leniency: float) -> bool:
        """Returns whether an answer has the predicted shape and values."""
        seen = observation.value
        if self.shape is not None:
            if seen.shape[:_AXES] != self.shape:
                return False
            seen = sample(seen)
        return same_numbers(observation, seen, self.value, self.rounding, leniency)

    def is_like(self, other: Prediction, observation: Observation, leniency: float) -> bool:
        """Returns whether another prediction for the same call is the same."""
        if not isinstance(other, Numbers) or other.shape != self.shape:
            return False
        rounding = self.rounding + other.rounding
        return same_numbers(observation, other.value, self.value, rounding, leniency)


def same_numbers(
    observation: Observation,
    seen: torch.Tensor,
    predicted: torch.Tensor,
    rounding: float,
    leniency: float,
) -> bool:
    """Returns whether the values `seen` in an answer equal those predicted, except for rounding."""
    if seen.shape != predicted.shape:
        return False
    allowed = tolerance_for(observation.value.dtype)
    lenient = Tolerance(allowed.rtol * leniency, (allowed.atol + rounding) * leniency)
    return all_within(seen, predicted, lenient)


# In standard deviations: the most by which two draws of one dropout differ.
_DEVIATIONS = 8
# Below this probability of dropping nothing, an answer without zeros is not the same dropout.
_UNLIKELY = 1e-6
_SAME_FACTOR = 1e-3


@dataclass(frozen=True, slots=True)
class Dropped:
    """The properties of a dropout, which sets random values of an argument to zero.

    `factor` multiplies the other values; it is NaN if they have no common factor. `share` is the
    share of zeros, and `draws` counts the independent draws. `by_rows` is true if whole rows
    are dropped together.
    """

    argument: str
    factor: float
    share: float
    by_rows: bool
    draws: int

    @property
    def tells(self) -> bool:
        """Returns True: if there are few draws, `agrees` allows a wider spread."""
        return True

    def agrees(self, observation: Observation, _leniency: float) -> bool:
        """Returns whether an answer may be another draw of the same dropout."""
        seen = dropped(observation.value, observation.call, self.argument)
        return seen is not None and self._is_drawn_as(seen)

    def is_like(self, other: Prediction, _observation: Observation, _leniency: float) -> bool:
        """Returns whether another prediction may be another draw of the same dropout."""
        return isinstance(other, Dropped) and self._is_drawn_as(other)

    def _is_drawn_as(self, seen: Dropped) -> bool:
        """Returns whether `seen` differs no more than another draw of this dropout may."""
        low, high = sorted((seen.share, self.share))
        if low > 0 and high < 1 and seen.by_rows is not self.by_rows:
            return False
        draws, likely = max(seen.draws, self.draws), (low + high) / 2
        if low == 0 < high and (1 - likely) ** draws < _UNLIKELY:
            return False
        spread = (likely * (1 - likely) * 2 / draws) ** 0.5
        if high - low > _DEVIATIONS * spread:
            return False
        return high == 1 or abs(seen.factor - self.factor) <= _SAME_FACTOR * abs(self.factor)


def dropped(answer: torch.Tensor, call: Call, argument: str) -> Dropped | None:
    """Returns the dropout of an argument that an answer shows, or None if the shapes differ."""
    whole = call.arguments[argument]
    if not isinstance(whole, torch.Tensor) or answer.shape != whole.shape or not whole.numel():
        return None
    zero = answer == 0
    factors = (answer.double() / whole.double())[~zero & (whole != 0)]
    factor = float(factors.median()) if factors.numel() else 1.0
    if not bool(((factors - factor).abs() <= _SAME_FACTOR * abs(factor)).all()):
        factor = float("nan")
    share = float(zero.double().mean())
    rows = zero.reshape(-1, zero.shape[-1] if zero.dim() else 1)
    # Some rows are all zero, or without a zero, by chance.
    by_chance = share ** rows.shape[-1] + (1 - share) ** rows.shape[-1]
    alike = float((rows.all(-1) | ~rows.any(-1)).double().mean())
    by_rows = alike > (1 + by_chance) / 2
    is_one_whole_row = len(rows) == 1 and alike == 1
    draws = len(rows) if by_rows or is_one_whole_row else rows.numel()
    return Dropped(argument, factor, share, by_rows, draws)


# A row holds the sizes of the answer's axes (-1 for missing ones), the sample and the rounding, or
# else the properties of a dropout. Its last value is 1 if there is an answer at all.
_AXES = 8
_WIDTH = _AXES + SAMPLE + 2


def row_of(prediction: Prediction | None) -> torch.Tensor:
    """Returns a prediction as a row."""
    row = torch.zeros(_WIDTH)
    if isinstance(prediction, Numbers):
        shape = prediction.value.shape[:_AXES]
        row[:_AXES] = torch.tensor([*shape, *[-1] * (_AXES - len(shape))])
        row[_AXES:-2], row[-2], row[-1] = sample(prediction.value), prediction.rounding, 1
    elif isinstance(prediction, Dropped):
        seen = (prediction.factor, prediction.share, prediction.by_rows, prediction.draws)
        row[: len(seen)], row[-1] = torch.tensor(seen), 1
    return row


def prediction_of(row: torch.Tensor, dropped_from: str | None) -> Prediction | None:
    """Returns the prediction in a row, or None if it has no answer.

    `dropped_from` is the argument that a dropout exercise drops values from, else None.
    """
    if not row[-1]:
        return None
    if dropped_from is None:
        shape = tuple(int(size) for size in row[:_AXES].tolist() if size >= 0)
        return Numbers(row[_AXES:-2], float(row[-2]), shape)
    factor, share, by_rows, draws = row[:4].tolist()
    return Dropped(dropped_from, factor, share, bool(by_rows), int(draws))
