"""Predictions of answers in which chance has a part: entries of an argument are set to zero."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.core.wire.calls import Call
from grader.testing.observation import Observation, Prediction

# Two draws of one chance stay within so many standard deviations.
_DEVIATIONS = 8
# So unlikely is it that nothing is dropped where something may be.
_UNLIKELY = 1e-6
_SAME_FACTOR = 1e-3


@dataclass(frozen=True, slots=True)
class Dropped:
    """What does not hang on the draw where chance sets entries of an argument to zero.

    `factor` is what the others are multiplied by (NaN if not all by the same), `share` that of the
    zeros, `fates` how many were drawn; `rows` says that whole rows have one fate each.
    """

    argument: str
    factor: float
    share: float
    rows: bool
    fates: int

    @property
    def tells(self) -> bool:
        """A draw of a few numbers tells as well as one of many: less, but nothing false."""
        return True

    def agrees(self, observation: Observation, _leniency: float) -> bool:
        """Whether the answer may be another draw of the same."""
        seen = dropped(observation.value, observation.call, self.argument)
        return seen is not None and self._is_drawn_as(seen)

    def is_like(self, other: Prediction, _observation: Observation, _leniency: float) -> bool:
        """Whether another prediction may be of another draw of the same."""
        return isinstance(other, Dropped) and self._is_drawn_as(other)

    def _is_drawn_as(self, seen: Dropped) -> bool:
        low, high = sorted((seen.share, self.share))
        if low > 0 and high < 1 and seen.rows is not self.rows:
            return False
        fates, likely = max(seen.fates, self.fates), (low + high) / 2
        if low == 0 < high and (1 - likely) ** fates < _UNLIKELY:
            return False
        spread = (likely * (1 - likely) * 2 / fates) ** 0.5
        if high - low > _DEVIATIONS * spread:
            return False
        return high == 1 or abs(seen.factor - self.factor) <= _SAME_FACTOR * self.factor


def dropped(answer: torch.Tensor, call: Call, argument: str) -> Dropped | None:
    """What an answer shows of how entries of an argument were dropped; None if of another shape."""
    whole = call.arguments[argument]
    if not isinstance(whole, torch.Tensor) or answer.shape != whole.shape or not whole.numel():
        return None
    zero = answer == 0
    left = (answer.double() / whole.double())[~zero & (whole != 0)]
    factor = float(left.median()) if left.numel() else 1.0
    if not bool(((left - factor).abs() <= _SAME_FACTOR * abs(factor)).all()):
        factor = float("nan")
    share = float(zero.double().mean())
    rows = zero.reshape(-1, zero.shape[-1] if zero.dim() else 1)
    # Some rows are all alike by chance, and a single one may be.
    by_chance = share ** rows.shape[-1] + (1 - share) ** rows.shape[-1]
    alike = float((rows.all(-1) | ~rows.any(-1)).double().mean())
    by_rows = alike > (1 + by_chance) / 2
    fates = len(rows) if by_rows or alike == len(rows) == 1 else rows.numel()
    return Dropped(argument, factor, share, by_rows, fates)
