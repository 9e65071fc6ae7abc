"""Grades, people and other platforms' files for the tests of exports."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.core.submission import Author
from grader.core.verdict import (
    Aspect,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    Visibility,
    Where,
)
from grader.reports.export.filling import Choices
from grader.reports.export.formats import export_of
from grader.reports.export.scores import Remark
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import Settling
from grader.results.results import People, Results
from grader.results.store import Store
from tests.harness.storing import add

WORTH = {"run_rope": 4.0, "run_mha": 6.0}
A_LINE = Where("m.py", 7)
# Possible names of people, some of which mean something to spreadsheets, XML or terminals.
AWKWARD = (
    'O\'Neil, "Zoë"',
    "Nguyễn Thị\nÁnh",
    '=HYPERLINK("http://x";"y")',
    "+49 30",
    "-bob",
    "@ada",
    "\ttab",
    "<b>&amp;]]>",
    "王小明",
    "a;b|c",
)


def a_settling(**fields: Any) -> Settling:
    """Returns the settling of a class without people, rule, decisions or times."""
    known: dict[str, Any] = {"people": {}, "times": {}, "rule": None}
    told: dict[str, Any] = {"decisions": (), "absentees": (), "marked": frozenset()}
    return Settling(**known | told | fields)


def a_verdict(exercise: str, score: float = 4.0, max_score: float = 4.0, **fields: Any) -> Verdict:
    """Returns a verdict, which is a pass if it has all its points."""
    status = Status.PASSED if score == max_score else Status.FAILED
    return Verdict(
        **{
            "id": f"tests/hidden/test_{exercise}.py::test_values",
            "exercise": exercise,
            "aspect": Aspect.VALUES,
            "status": status,
            "score": score,
            "max_score": max_score,
            "visibility": Visibility.HIDDEN,
            "duration_s": 0.25,
            **fields,
        }
    )


def a_grade(submission: str, *tests: Verdict, **fields: Any) -> Grade:
    """Returns a grade with the sum of its tests' points."""
    return Grade(
        **{
            "submission": submission,
            "status": GradeStatus.GRADED,
            "score": sum((test.score for test in tests), 0.0),
            "max_score": sum((test.max_score for test in tests), 0.0),
            "seed": 7,
            "submission_hash": "5ab",
            "suite_hash": "c0de",
            "duration_s": 1.5,
            "message": None,
            "isolation": {"filesystem": "landlock"},
            "tests": tests,
            **fields,
        }
    )


def scored(submission: str, *scores: float) -> Grade:
    """Returns a grade with these points: of 4 in `run_rope`, then of 6 in `run_mha`."""
    tests = [
        a_verdict(exercise, score, max_score)
        for (exercise, max_score), score in zip(WORTH.items(), scores, strict=True)
    ]
    return a_grade(submission, *tests)


def a_test(
    test: str, status: Status = Status.PASSED, error: float | None = None, **fields: Any
) -> Verdict:
    """Returns a verdict worth 4 points; "gx" is a test of generality in run_x, "vy" of run_y."""
    measured = None if error is None else Measurement(error, error, 1e-6, 1e-5, error)
    passed = status is Status.PASSED
    return a_verdict(
        f"run_{test[-1]}",
        4.0 if passed else 0.0,
        id=f"t.py::{test}",
        aspect=Aspect.GENERALITY if test.startswith("g") else Aspect.VALUES,
        status=status,
        measurement=measured,
        message=None if passed else f"{test} went wrong",
        **fields,
    )


def not_graded(submission: str) -> Grade:
    """Returns the grade of a submission that the machine failed to grade."""
    return a_grade(submission, status=GradeStatus.NOT_GRADED, message="the judge was lost twice")


def unreadable(submission: str) -> Grade:
    """Returns the grade of an empty submission."""
    why = "the zip is empty"
    tests = [
        a_verdict(exercise, 0.0, max_score, status=Status.MISSING, message=why)
        for exercise, max_score in WORTH.items()
    ]
    return a_grade(submission, *tests, status=GradeStatus.UNREADABLE, message=why)


def a_batch(
    folder: Path,
    *grades: Grade,
    authors: Mapping[str, Sequence[Author]] | None = None,
    late: Sequence[str] = (),
    absentees: Sequence[Author] = (),
) -> Results:
    """Returns the results of a batch, after storing them in a folder."""
    with Store.open(folder, "Attention") as store:
        store.set_people(People(authors or {}, late, absentees))
        for position, grade in enumerate(grades):
            add(store, grade, "key", position)
    return Store.read(folder)


@dataclasses.dataclass(frozen=True, slots=True)
class Exported:
    """The text of an export, and its remarks."""

    text: str
    remarks: Sequence[Remark]

    @property
    def said(self) -> str:
        """All remarks, as on standard error."""
        return "\n".join(map(str, self.remarks))

    @property
    def loses(self) -> bool:
        """Whether the export leaves out someone's points."""
        return any(remark.lost for remark in self.remarks)

    def table(self, separator: str = ",") -> list[list[str]]:
        """Returns the cells as an independent reader finds them."""
        text = self.text.removeprefix("\ufeff")
        return [*csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)]

    def column(self, title: str, key: str, separator: str = ",") -> dict[str, str]:
        """Returns the cells of one column by those of another."""
        header, *rows = self.table(separator)
        key_at, at = header.index(key), header.index(title)
        return {row[key_at]: row[at] for row in rows}


def exported(form: str, results: Results, template: Path | None = None, **choices: Any) -> Exported:
    """Returns an export in a format."""
    found = export_of(form, results, open_settling(results), template, Choices(**choices))
    return Exported(found.text, found.remarks)
