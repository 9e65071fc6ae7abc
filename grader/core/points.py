"""Points as whole hundredths, so that sums are exact and parts add up to the whole.

Elsewhere points are numbers with at most two decimals; all code that adds or divides them uses this
module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

OF_THE_VALUES = "of the points for this exercise's values are earned"
TAKEN_OFF = "of this exercise's points are taken off"
BY_HAND = "which must be written by hand in this assignment"
WITH_VALUES = "The other tests of an exercise count only as far as its values are right."
_IN_WORDS = {0: "none", 50: "half"}  # by percent
# Floats hold the hundredths of fewer points exactly.
MOST_POINTS = 1e12


def hundredths(points: float) -> int:
    """Returns points as a whole number of hundredths."""
    return round(100 * points)


def points_of(number: int) -> float:
    """Returns a number of hundredths as points, with at most two decimals."""
    return number / 100


def total(points: Iterable[float]) -> float:
    """Returns the exact sum of points."""
    return points_of(sum(map(hundredths, points)))


def shared_out(whole: int, weights: Sequence[float | Fraction]) -> list[int]:
    """Divides a whole in proportion to the weights, and rounds the largest remainders up.

    Among equal remainders, the first are rounded up. The weights are finite and not negative, and
    at least one is positive.
    """
    exact = [Fraction(weight) for weight in weights]
    everything = sum(exact)
    return _rounded(whole, [whole * weight / everything for weight in exact])


def scaled(parts: Sequence[tuple[float, float]], most: float | None) -> list[tuple[float, float]]:
    """Returns pairs of points and possible points, scaled so that the whole is worth `most`.

    The possible points add up to `most`. Full points stay full, and 0 points stay 0. If `most` is
    None, the points stay as they are.
    """
    possible = [hundredths(possible) for _, possible in parts]
    if most is None or not sum(possible):
        return [(total([got]), total([of])) for got, of in parts]
    worth = shared_out(hundredths(most), possible)
    exact = [
        Fraction(hundredths(got) * new, of) if of else Fraction(0)
        for (got, _), of, new in zip(parts, possible, worth, strict=True)
    ]
    earned = _rounded(math.floor(sum(exact) + Fraction(1, 2)), exact)
    return [(points_of(got), points_of(of)) for got, of in zip(earned, worth, strict=True)]


@dataclass(slots=True)
class Gate:
    """The rule that other points of an exercise count only in proportion to its right values.

    Tests of values are added first. Rounding makes the sum of several tests exact to the hundredth,
    but not each test. If the tests of values carry no points, their number counts.
    """

    right: int = 0
    _possible: int = 0
    _passed: int = 0
    _tests: int = 0
    _earned: int = 0

    def add_values(self, right: int, possible: int, passed: bool) -> None:
        """Adds a test of values: the hundredths that it earned, and those that it carries."""
        self.right += right
        self._possible += possible
        self._passed += passed
        self._tests += 1

    @property
    def share(self) -> Fraction:
        """Returns the share of the values that is right, or 1 if no test is about values."""
        if self._possible:
            return Fraction(self.right, self._possible)
        return Fraction(self._passed, self._tests) if self._tests else Fraction(1)

    @property
    def remark(self) -> str:
        """Returns the remark on a test that passed and counts less."""
        percent = min(max(round(100 * self.share), 1), 99) if self.share else 0
        part = _IN_WORDS.get(percent, f"{percent}%")
        return f"earns {part} of its points, because {part} {OF_THE_VALUES}"

    def counted(self, earned: int) -> int:
        """Returns how many of a test's `earned` hundredths count; the test is of another aspect."""
        before = self.counted_of(self._earned)
        self._earned += earned
        return self.counted_of(self._earned) - before

    def counted_of(self, earned: int) -> int:
        """Returns how many hundredths count of those that tests of other aspects earned."""
        return math.floor(earned * self.share)


def _rounded(whole: int, exact: Sequence[Fraction]) -> list[int]:
    """Returns whole numbers nearest to the exact ones that add up to `whole`."""
    parts = [math.floor(number) for number in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: parts[place] - exact[place])
    for place in by_remainder[: whole - sum(parts)]:
        parts[place] += 1
    return parts


@dataclass(frozen=True, slots=True)
class CourseWorth:
    """The hundredths that all public tests carry, and those of the whole assignment."""

    public: int
    in_all: int
