"""A grade and its explanations go into a store as from a batch: the verdicts first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grader.core.evidence import Evidence
from grader.core.explanation import Told, Words
from grader.core.verdict import Grade, GradeStatus, Status
from grader.intake.discovery import discover
from grader.intake.handed_in import fingerprint
from grader.results.store import Store


def add(
    store: Store,
    grade: Grade,
    key: str,
    position: int,
) -> None:
    """Adds a judge's part of a grade, then an explainer's part."""
    store.add(plainly(grade), key, position)
    words = words_in(grade)
    if words != Words():
        store.add_words(grade.submission, words)


def plainly(grade: Grade) -> Grade:
    """Returns the grade as its judge gives it."""
    tests = tuple(
        test
        if test.status is Status.PASSED
        else test._replace(message="wrong", measurement=None, diagnosis=None, where=None)
        for test in grade.tests
    )
    return replace(grade, tests=tests, evidence=Evidence(), unexplained=None)


def words_in(grade: Grade) -> Words:
    """Returns the explainer's part of a grade."""
    told = {
        test.id: Told(test.message or "", test.measurement, test.diagnosis, test.where)
        for test in grade.tests
        if test.status is not Status.PASSED
    }
    return Words(told, None, grade.evidence, grade.unexplained)


def store_submissions(folder: Path, out: Path, assignment: str) -> Path:
    """Writes results that say that the submissions in a folder were graded."""
    with Store.open(out, assignment) as store:
        for place, entry in enumerate(discover([folder]).entries):
            digest = fingerprint(entry)
            grade = Grade(entry.name, GradeStatus.GRADED, 1, 2, 7, digest, "s", 0.1, None, {}, ())
            store.add(grade, "key", place)
        store.remember(paths=[str(folder)])
    return out
