"""Wrong answers that no known mistake explains, as they are kept to be compared; plain data.

They are answers to the inputs that students have at home: of the graded draw nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.core.evidence import Excerpt

# So many of an answer's numbers are kept.
SAMPLE = 24


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """The answer to the `number`-th plain call of a test: its shape, and numbers spread over it.

    `plain` is whether the test is one of values; `inputs` says what was passed, in words, `size`
    how many numbers that is; `tolerance` is the relative and the absolute one of its dtype.
    """

    test: str
    number: int
    plain: bool
    shape: tuple[int, ...]
    numbers: tuple[float, ...]
    tolerance: tuple[float, float]
    inputs: str
    size: int

    @property
    def key(self) -> tuple[str, int]:
        """Which call it is the answer to."""
        return self.test, self.number

    def is_like(self, other: WrongAnswer, leniency: float) -> bool:
        """Whether two answers to one call are the same, within so many times the tolerance."""
        if self.shape != other.shape or len(self.numbers) != len(other.numbers):
            return False
        rtol, atol = (
            leniency * max(own, theirs)
            for own, theirs in zip(self.tolerance, other.tolerance, strict=True)
        )
        return all(
            one == two
            or (math.isnan(one) and math.isnan(two))
            or abs(one - two) <= atol + rtol * abs(two)
            for one, two in zip(self.numbers, other.numbers, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """The answer as an object; NaN and infinities are texts in it."""
        return {
            "test": self.test,
            "call": self.number,
            "plain": self.plain,
            "shape": list(self.shape),
            "numbers": [one if math.isfinite(one) else str(one) for one in self.numbers],
            "tolerance": list(self.tolerance),
            "inputs": self.inputs,
            "size": self.size,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> WrongAnswer:
        """The answer that `as_json` wrote; raises KeyError, TypeError or ValueError if none."""
        rtol, atol = map(float, row["tolerance"])
        return cls(
            str(row["test"]),
            int(row["call"]),
            bool(row["plain"]),
            tuple(map(int, row["shape"])),
            tuple(map(float, row["numbers"])),
            (rtol, atol),
            str(row["inputs"]),
            int(row["size"]),
        )


@dataclass(frozen=True, slots=True)
class WrongAnswers:
    """The wrong answers of a submission to one exercise's telling calls.

    `suspicion` is what may be wrong, if anything tells; `source` are lines of the submission.
    """

    exercise: str
    answers: tuple[WrongAnswer, ...]
    suspicion: str | None = None
    source: Excerpt | None = None

    def is_like(self, other: WrongAnswers, leniency: float) -> bool:
        """Whether two submissions answer alike: the same tests of values, by the same numbers.

        Answers to other tests must agree as far as both have some. Where other inputs were passed,
        as the test was changed in between, there is nothing to compare.
        """
        own, theirs = self._by_key(), other._by_key()
        if {key for key, one in own.items() if one.plain} != {
            key for key, one in theirs.items() if one.plain
        }:
            return False
        both = [(one, theirs[key]) for key, one in own.items() if key in theirs]
        same = [(one, other) for one, other in both if one.inputs == other.inputs]
        return bool(same) and all(one.is_like(other, leniency) for one, other in same)

    def _by_key(self) -> dict[tuple[str, int], WrongAnswer]:
        return {one.key: one for one in self.answers}

    def as_json(self) -> dict[str, Any]:
        """The answers as one object of plain data."""
        source = self.source
        return {
            "exercise": self.exercise,
            "answers": [one.as_json() for one in self.answers],
            "suspicion": self.suspicion,
            "source": source and [source.file, source.first, list(source.lines)],
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> WrongAnswers:
        """The answers that `as_json` wrote."""
        source = row.get("source")
        return cls(
            str(row["exercise"]),
            tuple(map(WrongAnswer.from_json, row["answers"])),
            row.get("suspicion"),
            None if source is None else Excerpt(source[0], source[1], tuple(source[2])),
        )


def spread_over(numbers: Sequence[float]) -> tuple[float, ...]:
    """A few of many numbers, evenly spread, in nine digits; all, if they are few."""
    if len(numbers) > SAMPLE:
        step = (len(numbers) - 1) / (SAMPLE - 1)
        numbers = [numbers[round(place * step)] for place in range(SAMPLE)]
    return tuple(float(f"{number:.9g}") for number in numbers)
