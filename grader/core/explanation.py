"""Explanations of verdicts: words, and wrong answers that no known mistake explains.

Explanations change no verdict. The wrong answers are to the inputs that students have at home;
nothing is kept from the graded draw.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grader.core.evidence import Evidence
from grader.core.text import PlainData
from grader.core.verdict import (
    Diagnosis,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Where,
)

_MOST_NUMBERS = 24


@dataclass(frozen=True, slots=True)
class WrongAnswer(PlainData):
    """A wrong answer in a test: its shape, and a sample of its values in `numbers`.

    `call` is the number of the call in the test. `plain` is whether the test checks values.
    `inputs` describes the arguments in words; `size` is how many values they hold. `tolerance` is
    the relative and the absolute tolerance of the dtype.
    """

    test: str
    call: int
    plain: bool
    shape: tuple[int, ...]
    numbers: tuple[float, ...]
    tolerance: tuple[float, float]
    inputs: str
    size: int

    @property
    def key(self) -> tuple[str, int]:
        """Returns the test and the number of the call."""
        return self.test, self.call

    def is_like(self, other: WrongAnswer, leniency: float) -> bool:
        """Returns whether two answers to one call agree within `leniency` times the tolerance."""
        if self.shape != other.shape or len(self.numbers) != len(other.numbers):
            return False
        rtol, atol = (
            leniency * max(own, theirs)
            for own, theirs in zip(self.tolerance, other.tolerance, strict=True)
        )
        return all(
            one == two
            or (math.isnan(one) and math.isnan(two))
            or (
                math.isfinite(one)
                and math.isfinite(two)
                and abs(one - two) <= atol + rtol * max(abs(one), abs(two))
            )
            for one, two in zip(self.numbers, other.numbers, strict=True)
        )


@dataclass(frozen=True, slots=True)
class WrongAnswers(PlainData):
    """The wrong answers of a submission in one exercise.

    `suspicion` names the likely fault, if there is a clue.
    """

    exercise: str
    answers: tuple[WrongAnswer, ...]
    suspicion: str | None = None

    def is_like(self, other: WrongAnswers, leniency: float) -> bool:
        """Returns whether two submissions give the same values in the same tests of values.

        Answers to other tests must agree if both submissions have them. Answers to different inputs
        are not compared: the test was changed in between.
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


def spread_over(numbers: Sequence[float]) -> tuple[float, ...]:
    """Returns a sample of the numbers, evenly spread, in nine significant digits."""
    if len(numbers) > _MOST_NUMBERS:
        step = (len(numbers) - 1) / (_MOST_NUMBERS - 1)
        numbers = [numbers[round(place * step)] for place in range(_MOST_NUMBERS)]
    return tuple(float(f"{number:.9g}") for number in numbers)


# Why words are missing until the explainer has written them.
PENDING = "no explanation was added yet"
LATE = "the time for its explanation ended before it was complete"


class Told(NamedTuple):
    """The explanation of one test that did not pass: fields of its verdict.

    The numbers come from inputs at home.
    """

    message: str
    measurement: Measurement | None = None
    diagnosis: Diagnosis | None = None
    where: Where | None = None


@dataclass(frozen=True)
class Words(PlainData):
    """The explanation of one submission's verdicts: by test, as a whole, and its evidence.

    `message` is about the whole submission, and holds more than the judge's message. `missing` is
    why words are missing, or None if none are. `wrong` are the answers that no known mistake
    explains.
    """

    tests: Mapping[str, Told] = field(default_factory=dict)
    message: str | None = None
    evidence: Evidence = field(default_factory=Evidence)
    missing: str | None = None
    wrong: tuple[WrongAnswers, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the words as one object of plain data; the evidence crosses packed."""
        row = PlainData.as_json(dataclasses.replace(self, evidence=Evidence()))
        return row | {"evidence": base64.b64encode(self.evidence.packed()).decode()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Words:
        """Returns the words that `as_json` wrote."""
        evidence = Evidence.unpacked(base64.b64decode(row["evidence"]))
        return dataclasses.replace(super().from_json({**row, "evidence": {}}), evidence=evidence)


def lack_in_words(missing: str) -> str:
    """Returns the sentence that not all is explained and that the grade does not depend on it."""
    return f"The explanation is incomplete, which does not affect the grade: {missing}."


def needs_words(grade: Grade) -> bool:
    """Returns whether a grade has a test whose outcome can be explained."""
    if grade.status is GradeStatus.NOT_GRADED:
        return False
    return any(test.status is not Status.PASSED for test in grade.tests)


def explained(grade: Grade, words: Words) -> Grade:
    """Returns the grade with its words; outcomes and scores stay the same.

    Where the words measure nothing, the judge's measurement stands.
    """
    tests = list(grade.tests)
    for place, test in enumerate(tests):
        if (said := words.tests.get(test.id)) is not None:
            measured = said.measurement or test.measurement
            tests[place] = test._replace(**said._replace(measurement=measured)._asdict())
    return dataclasses.replace(
        grade,
        tests=tuple(tests),
        message=words.message or grade.message,
        evidence=words.evidence,
        unexplained=words.missing,
    )
