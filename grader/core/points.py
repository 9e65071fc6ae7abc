"""Points are whole hundredths: sums of them are exact, and parts add up to the whole.

Outside they are written as numbers with two decimals at most; whoever adds or divides them does it
here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

OF_THE_VALUES = "of this exercise's values are right"
_IN_WORDS = {0: ("nothing", "none"), 50: ("half", "half")}  # by percent


@functools.lru_cache(maxsize=4096)
def hundredths(points: float) -> int:
    """Returns points as a whole number of hundredths."""
    return round(100 * points)


def points_of(number: int) -> float:
    """Returns a number of hundredths as points, with two decimals at most."""
    return number / 100


def total(points: Iterable[float]) -> float:
    """Returns the exact sum."""
    return points_of(sum(map(hundredths, points)))


def shared_out(whole: int, weights: Sequence[float | Fraction]) -> list[int]:
    """Divides a whole by weight. The largest remainders are rounded up.

    Among equal remainders the first ones are. The weights are finite, none is negative and not
    all are 0.
    """
    exact = [Fraction(weight) for weight in weights]
    everything = sum(exact)
    return _rounded(whole, [whole * weight / everything for weight in exact])


def scaled(parts: Sequence[tuple[float, float]], most: float | None) -> list[tuple[float, float]]:
    """Returns pairs of points and possible points, scaled so that the whole is worth `most`.

    What is to be had adds up to `most`; a part that is full stays full, and one of 0 stays 0. None
    leaves the parts as they are.
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
    """No work, no points: an exercise's other points count as far as its values are right.

    The values are told first. What counts is rounded so that of several tests together it is right
    to the hundredth, not of each alone. Values that carry no points count by their number.
    """

    right: int = 0
    _possible: int = 0
    _passed: int = 0
    _tests: int = 0
    _earned: int = 0

    def add_values(self, right: int, possible: int, passed: bool) -> None:
        """Adds a test of the values: the hundredths that it carries, and those that it earned."""
        self.right += right
        self._possible += possible
        self._passed += passed
        self._tests += 1

    @property
    def share(self) -> Fraction:
        """Returns how much of the values is right; all of it, where none are asked for."""
        if self._possible:
            return Fraction(self.right, self._possible)
        return Fraction(self._passed, self._tests) if self._tests else Fraction(1)

    @property
    def remark(self) -> str:
        """Returns the remark on a test that passed and counts less."""
        percent = min(max(round(100 * self.share), 1), 99) if self.share else 0
        counts, right = _IN_WORDS.get(percent, (f"{percent} %", f"{percent} %"))
        return f"counts {counts}: {right} {OF_THE_VALUES}"

    def counted(self, earned: int) -> int:
        """Returns how many of the hundredths count that a test of another aspect earned."""
        before = self.counted_of(self._earned)
        self._earned += earned
        return self.counted_of(self._earned) - before

    def counted_of(self, earned: int) -> int:
        """Returns how many count of the hundredths that all tests of other aspects earned."""
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
