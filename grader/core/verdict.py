"""Verdicts and grades: plain data that the judge writes and everything after it reads."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grader.core.evidence import Evidence
from grader.core.points import total
from grader.core.submission import Imports
from grader.core.text import PlainData

SCHEMA = 1


class Status(enum.StrEnum):
    """The outcome of one test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    MISSING = "missing"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    NOT_GRADED = "not_graded"


class GradeStatus(enum.StrEnum):
    """The outcome of one submission."""

    GRADED = "graded"
    UNREADABLE = "unreadable"
    NOT_GRADED = "not_graded"


class Aspect(enum.StrEnum):
    """The aspect that a test checks; each carries a share of the points of every exercise."""

    VALUES = "values"
    GENERALITY = "generality"
    NUMERICS = "numerics"
    GRADIENTS = "gradients"
    DISCIPLINE = "discipline"
    EFFICIENCY = "efficiency"


# Mistakes are recognised in tests of these aspects: large scores or low precision blur the others.
TELLING_ASPECTS = (Aspect.VALUES, Aspect.GENERALITY)
# In tests of numerics, only NaN and infinity show a mistake, and a right answer excludes it.
WATCHED_ASPECTS = (*TELLING_ASPECTS, Aspect.NUMERICS)
# These tests judge the work that is counted, whatever the answer is.
COUNTED_ASPECTS = (Aspect.EFFICIENCY,)
# Failures of these tests are no wrong answers.
NO_ANSWER_ASPECTS = (*COUNTED_ASPECTS, Aspect.DISCIPLINE)


class Visibility(enum.StrEnum):
    """Whether students hold the test's source."""

    PUBLIC = "public"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A known mistake that explains a failure."""

    mistake: str
    explanation: str
    hint: str


@dataclass(frozen=True, slots=True)
class Where:
    """The line of the submission at which a result becomes wrong."""

    file: str
    line: int
    step: str | None = None


class Measurement(NamedTuple):
    """The distance of an answer from the expected one, and the tolerance.

    An error without a finite value is infinite; JSON, which has no infinity, holds null. `wrong` of
    `total` values exceed the tolerance; the value at the index `worst` exceeds it most. Most
    verdicts have a measurement: it is a tuple for the same reason as `Verdict`.
    """

    max_abs_error: float
    max_rel_error: float
    rtol: float
    atol: float
    error_over_tolerance: float
    wrong: int = 0
    total: int = 0
    worst: tuple[int, ...] = ()

    def as_json(self) -> dict[str, float | None]:
        """Returns the errors and the tolerance as fields of a verdict's JSON object."""
        fields = {name: getattr(self, name) for name in _MEASURES}
        return {name: x if math.isfinite(x) else None for name, x in fields.items()}


_MEASURES = ("max_abs_error", "max_rel_error", "rtol", "atol", "error_over_tolerance")
_UNMEASURED = dict.fromkeys(_MEASURES)


def name_of_test(test: str) -> str:
    """Returns a test's id without its file; a parameter may hold "::" as well."""
    return test.partition("::")[2] or test


class Verdict(NamedTuple):
    """The outcome of one test for one submission.

    Each submission has hundreds of verdicts. A tuple is made in a quarter of the time of a
    dataclass.
    """

    id: str
    exercise: str
    aspect: Aspect
    status: Status
    score: float
    max_score: float
    visibility: Visibility
    duration_s: float = 0.0
    message: str | None = None
    measurement: Measurement | None = None
    diagnosis: Diagnosis | None = None
    where: Where | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the verdict as one object of `results.jsonl`."""
        measured = self.measurement
        return {
            **dict(zip(_UNNESTED, self, strict=False)),
            **(measured.as_json() if measured else _UNMEASURED),
            "diagnosis": dataclasses.asdict(self.diagnosis) if self.diagnosis else None,
            "where": dataclasses.asdict(self.where) if self.where else None,
        }


_UNNESTED = Verdict._fields[: Verdict._fields.index("measurement")]


def by_exercise(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Returns the verdicts of each exercise, in the order of the tests."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.exercise, []).append(verdict)
    return found


@dataclass(frozen=True, slots=True)
class Carried:
    """Points that an exercise gets back, since its mistake is deducted at another one, the `root`.

    The answers of the exercise are exactly those of right code that is built on the root's wrong
    part.
    """

    exercise: str
    root: str
    mistake: str
    points: float

    def sentence(self, is_full: bool) -> str:
        """Returns the reason as a sentence; unless the points are full, more may be wrong."""
        error = "Its only error" if is_full else "One error"
        return f"{error} is that of {self.root} ({self.mistake}), where it was already deducted."


@dataclass(frozen=True, slots=True)
class Grade(PlainData):
    """A submission's verdicts and points.

    `notes` are sentences for the instructor: files that were left out, the file chosen among
    several, cells of a notebook that raised. `evidence` is shown in reports. `results.jsonl` holds
    neither of them, nor `imports`, the submission's imports from the course's environment.
    `unexplained` is why words are missing, or None if none are. `score` is the sum of the tests'
    scores; the points that are `carried` come on top of it.
    """

    submission: str
    status: GradeStatus
    score: float
    max_score: float
    seed: int
    submission_hash: str
    suite_hash: str
    duration_s: float
    message: str | None
    isolation: Mapping[str, str]
    tests: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    imports: Imports = field(default_factory=Imports)
    unexplained: str | None = None
    carried: tuple[Carried, ...] = ()

    @property
    def final(self) -> float:
        """Returns the score with the carried points."""
        return total([self.score, *(one.points for one in self.carried)])

    @property
    def is_complete(self) -> bool:
        """Returns whether every test was judged; if not, the submission needs grading again."""
        if self.status is GradeStatus.NOT_GRADED:
            return False
        return all(test.status is not Status.NOT_GRADED for test in self.tests)

    def as_json(self, whole: bool = False) -> dict[str, Any]:
        """Returns the grade as one line of `results.jsonl`.

        If it is `whole`, the row holds all but the evidence, and `from_json` reads it.
        """
        if whole:
            return PlainData.as_json(dataclasses.replace(self, evidence=Evidence()))
        row = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        del row["evidence"], row["notes"], row["imports"], row["tests"]
        return {
            "schema": SCHEMA,
            **row,
            "isolation": dict(self.isolation),
            "carried": [dataclasses.asdict(one) for one in self.carried],
            "tests": [verdict.as_json() for verdict in self.tests],
        }
