"""Verdicts and grades: plain data that the judge writes and everything after it reads."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """What a test looks at; each carries a share of its exercise's points."""

    VALUES = "values"
    GENERALITY = "generality"
    NUMERICS = "numerics"
    GRADIENTS = "gradients"
    DISCIPLINE = "discipline"
    EFFICIENCY = "efficiency"


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
    """The line of the submission at which a result goes astray."""

    file: str
    line: int
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """How far an answer was from the expected one, and how far it was allowed to be.

    An error is infinite where no number says how far; JSON, which has no infinity, holds null.
    """

    max_abs_error: float
    max_rel_error: float
    rtol: float
    atol: float
    error_over_tolerance: float

    def as_json(self) -> dict[str, float | None]:
        """The measurement as fields of a verdict's object."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: x if math.isfinite(x) else None for name, x in fields.items()}

    @classmethod
    def from_json(cls, fields: Mapping[str, float | None]) -> Measurement:
        """The measurement that `as_json` wrote."""
        return cls(**{name: math.inf if x is None else x for name, x in fields.items()})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one test for one submission."""

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
        """The verdict as one object of `results.jsonl`."""
        measured = self.measurement
        return {
            "id": self.id,
            "exercise": self.exercise,
            "aspect": self.aspect,
            "status": self.status,
            "score": self.score,
            "max_score": self.max_score,
            "visibility": self.visibility,
            "duration_s": self.duration_s,
            "message": self.message,
            **(measured.as_json() if measured else dict.fromkeys(Measurement.__slots__)),
            "diagnosis": dataclasses.asdict(self.diagnosis) if self.diagnosis else None,
            "where": dataclasses.asdict(self.where) if self.where else None,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Verdict:
        """The verdict that `as_json` wrote."""
        fields = dict(row)
        measured = {name: fields.pop(name) for name in Measurement.__slots__}
        diagnosis, where = fields.pop("diagnosis"), fields.pop("where")
        return cls(
            **fields
            | {
                "aspect": Aspect(fields["aspect"]),
                "status": Status(fields["status"]),
                "visibility": Visibility(fields["visibility"]),
            },
            measurement=None if measured["rtol"] is None else Measurement.from_json(measured),
            diagnosis=Diagnosis(**diagnosis) if diagnosis else None,
            where=Where(**where) if where else None,
        )


@dataclass(frozen=True, slots=True)
class Grade:
    """A submission's verdicts and points."""

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

    @property
    def is_complete(self) -> bool:
        """Whether every test was judged; if not, the submission wants grading once more."""
        if self.status is GradeStatus.NOT_GRADED:
            return False
        return all(test.status is not Status.NOT_GRADED for test in self.tests)

    def as_json(self) -> dict[str, Any]:
        """The grade as one line of `results.jsonl`."""
        row = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            "schema": SCHEMA,
            **row,
            "isolation": dict(self.isolation),
            "tests": [verdict.as_json() for verdict in self.tests],
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Grade:
        """The grade that `as_json` wrote."""
        fields = {name: value for name, value in row.items() if name != "schema"}
        tests = tuple(Verdict.from_json(test) for test in fields.pop("tests"))
        return cls(**fields | {"status": GradeStatus(fields["status"])}, tests=tests)
