"""Words: what explains the verdicts on a submission, and never decides them; plain data."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grader.core.evidence import Evidence
from grader.core.verdict import Diagnosis, Grade, GradeStatus, Measurement, Status, Where
from grader.core.wrong_answers import WrongAnswers

PENDING = "no words were added yet"


class Told(NamedTuple):
    """What is said of one test that was not passed; its numbers are those of inputs at home."""

    message: str
    measurement: Measurement | None = None
    diagnosis: Diagnosis | None = None
    where: Where | None = None

    def as_json(self) -> dict[str, Any]:
        """The words as an object, without fields for what is unknown."""
        row: dict[str, Any] = {"message": self.message}
        if self.measurement is not None:
            row["measurement"] = [self.measurement.as_json(), self.measurement.spread()]
        if self.diagnosis is not None:
            row["diagnosis"] = dataclasses.asdict(self.diagnosis)
        if self.where is not None:
            row["where"] = dataclasses.asdict(self.where)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Told:
        """The words that `as_json` wrote."""
        measured = row.get("measurement")
        return cls(
            str(row["message"]),
            None if measured is None else Measurement.from_json(*measured),
            Diagnosis(**row["diagnosis"]) if "diagnosis" in row else None,
            Where(**row["where"]) if "where" in row else None,
        )


@dataclass(frozen=True, slots=True)
class Words:
    """What explains one submission's verdicts: by test, as a whole, and what there is to see.

    `message` is said of the submission as a whole where its judge says less; `missing` is why
    there are no words, or not all; None if nothing is missing. `wrong` are the answers that no
    known mistake explains.
    """

    tests: Mapping[str, Told] = field(default_factory=dict)
    message: str | None = None
    evidence: Evidence = field(default_factory=Evidence)
    missing: str | None = None
    wrong: tuple[WrongAnswers, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The words as one object of plain data."""
        return {
            "tests": {test: words.as_json() for test, words in self.tests.items()},
            "message": self.message,
            "evidence": base64.b64encode(self.evidence.packed()).decode(),
            "missing": self.missing,
            "wrong": [one.as_json() for one in self.wrong],
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Words:
        """The words that `as_json` wrote."""
        return cls(
            {str(test): Told.from_json(words) for test, words in row["tests"].items()},
            row["message"],
            Evidence.unpacked(base64.b64decode(row["evidence"])),
            row["missing"],
            tuple(map(WrongAnswers.from_json, row.get("wrong", ()))),
        )


def lack_in_words(missing: str) -> str:
    """That there are no words, or not all, as a sentence: the grade stands all the same."""
    return f"Not all is explained, and the grade stands as it is: {missing}."


def wants_words(grade: Grade, names_matter: bool) -> bool:
    """Whether there is something to explain; `names_matter` where an assignment forbids some."""
    if grade.status is GradeStatus.NOT_GRADED:
        return False
    return names_matter or any(test.status is not Status.PASSED for test in grade.tests)


def explained(grade: Grade, words: Words) -> Grade:
    """The grade with its words; no outcome and no score is changed."""
    tests = tuple(
        test
        if (said := words.tests.get(test.id)) is None
        else test._replace(
            message=said.message,
            measurement=said.measurement,
            diagnosis=said.diagnosis,
            where=said.where,
        )
        for test in grade.tests
    )
    return dataclasses.replace(
        grade,
        tests=tests,
        message=words.message or grade.message,
        evidence=words.evidence,
        unexplained=words.missing,
    )
