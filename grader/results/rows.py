"""Grades as rows of the tables, and back."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grader.core.verdict import (
    Aspect,
    Carried,
    Diagnosis,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    Visibility,
    Where,
)
from grader.core.words import Told

OF_A_SUBMISSION = (
    "name, status, score, max_score, seed, submission_hash, suite_hash, duration_s, message, "
    "isolation, said, unexplained"
)
_ERRORS = (
    "max_abs_error", "max_rel_error", "rtol", "atol", "error_over_tolerance", "wrong", "total",
    "worst",
)  # fmt: skip
OF_WORDS = ("message", *_ERRORS, "mistake", "explanation", "hint", "file", "line", "step")
_OF_A_VERDICT = f"test, status, score, message, {', '.join(_ERRORS)}, duration_s"
_IN_WORDS = ", ".join(f"COALESCE(words.{name}, verdict.{name})" for name in ("message", *_ERRORS))
# The verdicts of a submission, each with its words where it has some.
VERDICTS = (
    f"SELECT test, status, score, {_IN_WORDS}, mistake, explanation, hint, file, line, step, "
    "duration_s FROM verdict LEFT JOIN words USING (submission, place) "
    "WHERE verdict.submission = ? ORDER BY verdict.place"
)
# The same, as the judge reached them.
REACHED = (
    f"SELECT test, status, score, message, {', '.join(_ERRORS)}, NULL, NULL, NULL, NULL, NULL, "
    "NULL, duration_s FROM verdict WHERE submission = ? ORDER BY place"
)
# Those among them of which there is something to say, with their places in front.
REMARKABLE = VERDICTS.replace("SELECT ", "SELECT verdict.place, ").replace(
    " ORDER BY",
    " AND (status <> 'passed' OR verdict.message IS NOT NULL OR words.place IS NOT NULL) ORDER BY",
)
# The same, without what is said of them and how long they took.
OUTCOMES = "SELECT test, status, score FROM verdict WHERE submission = ? ORDER BY place"
PLACED_OUTCOMES = OUTCOMES.replace("SELECT ", "SELECT place, ")
OF_A_TEST = "id, exercise, aspect, max_score, visibility"
ADD_TEST = f"INSERT INTO test ({OF_A_TEST}) VALUES (?, ?, ?, ?, ?)"
ADD_SUBMISSION = (
    f"INSERT INTO submission ({OF_A_SUBMISSION}, position, key, finished) "
    f"VALUES ({', '.join('?' * 15)})"
)
ADD_VERDICT = (
    f"INSERT INTO verdict (submission, place, {_OF_A_VERDICT}) VALUES ({', '.join('?' * 15)})"
)
ADD_WORDS = (
    f"INSERT OR REPLACE INTO words (submission, place, {', '.join(OF_WORDS)}) "
    f"VALUES ({', '.join('?' * 17)})"
)
ADD_EVIDENCE = "INSERT OR REPLACE INTO evidence (submission, data) VALUES (?, ?)"
_OF_CARRIED = "exercise, root, mistake, points"
CARRIED = f"SELECT {_OF_CARRIED} FROM carried WHERE submission = ? ORDER BY exercise"
ADD_CARRIED = f"INSERT INTO carried (submission, {_OF_CARRIED}) VALUES (?, ?, ?, ?, ?)"
ADD_NOTE = "INSERT INTO note (submission, place, text) VALUES (?, ?, ?)"

_UNKNOWN = (None,)
_STATUSES = {status.value: status for status in Status}

TestRow = tuple[str, str, str, float, str]
Test = tuple[str, str, Aspect, float, Visibility]


def well_formed(text: str | None) -> Any:
    """The text; halves of surrogate pairs, which UTF-8 does not have, are escaped."""
    return text and text.encode("utf-8", "backslashreplace").decode("utf-8")


def row_of_test(verdict: Verdict) -> TestRow:
    """The test of a verdict: its id, exercise, aspect, points and visibility."""
    return (
        verdict.id,
        verdict.exercise,
        verdict.aspect.value,
        verdict.max_score,
        verdict.visibility.value,
    )


def submission_row(grade: Grade) -> tuple[Any, ...]:
    """A grade without its verdicts and words, in the order of `OF_A_SUBMISSION`."""
    return (
        well_formed(grade.submission),
        grade.status.value,
        grade.score,
        grade.max_score,
        grade.seed,
        grade.submission_hash,
        grade.suite_hash,
        grade.duration_s,
        well_formed(grade.message),
        json.dumps(dict(grade.isolation)),
        None,
        grade.unexplained,
    )


def verdict_row(verdict: Verdict) -> tuple[Any, ...]:
    """A verdict without its test and its words, in the order of the table."""
    measurement = verdict.measurement
    return (
        verdict.status.value,
        verdict.score,
        well_formed(verdict.message),
        *(_measurement_row(measurement) if measurement else _UNKNOWN * 8),
        verdict.duration_s,
    )


def carried_row(carried: Carried) -> tuple[str, str, str, float]:
    """Points that an exercise gets back, in the order of the table."""
    return carried.exercise, carried.root, carried.mistake, carried.points


def words_row(told: Told) -> tuple[Any, ...]:
    """What is told of one verdict, in the order of the table."""
    measurement, diagnosis, where = told.measurement, told.diagnosis, told.where
    place = (well_formed(where.file), where.line, well_formed(where.step)) if where else None
    return (
        well_formed(told.message),
        *(_measurement_row(measurement) if measurement else _UNKNOWN * 8),
        *(_diagnosis_row(diagnosis) if diagnosis else _UNKNOWN * 3),
        *(place or _UNKNOWN * 3),
    )


def grade_of(
    row: Sequence[Any],
    tests: tuple[Verdict, ...],
    notes: tuple[str, ...],
    carried: Iterable[Sequence[Any]] = (),
) -> Grade:
    """The grade whose `submission_row` this is, and whose `carried_row`s."""
    name, status, score, max_score, seed, submission_hash, suite_hash, *rest = row
    duration_s, message, isolation, said, unexplained = rest
    return Grade(
        submission=name,
        status=GradeStatus(status),
        score=score,
        max_score=max_score,
        seed=seed,
        submission_hash=submission_hash,
        suite_hash=suite_hash,
        duration_s=duration_s,
        message=said or message,
        isolation=json.loads(isolation),
        tests=tests,
        notes=notes,
        unexplained=unexplained,
        carried=tuple(Carried(*of_one) for of_one in carried),
    )


def test_of(row: Sequence[Any]) -> Test:
    """The test whose `row_of_test` this is."""
    test_id, exercise, aspect, max_score, visibility = row
    return test_id, exercise, Aspect(aspect), max_score, Visibility(visibility)


def verdict_of(tests: Mapping[int, Test], row: Sequence[Any]) -> Verdict:
    """The verdict of a row of `VERDICTS`.

    A class has hundreds for each submission: reading one is most of what reading a store costs.
    """
    (
        number, status, score, message, largest, relative, rtol, atol, ratio, wrong, total, worst,
        mistake, explanation, hint, file, line, step, duration_s,
    ) = row  # fmt: skip
    test_id, exercise, aspect, max_score, visibility = tests[number]
    measurement = None
    if wrong is not None:
        errors = (largest, relative, rtol, atol, ratio)
        if None in errors:
            largest, relative, rtol, atol, ratio = map(_infinite_if_null, errors)
        index = _index(worst)
        measurement = Measurement(largest, relative, rtol, atol, ratio, wrong, total, index)
    return Verdict(
        test_id,
        exercise,
        aspect,
        _STATUSES[status],
        score,
        max_score,
        visibility,
        duration_s,
        message,
        measurement,
        None if mistake is None else Diagnosis(mistake, explanation, hint),
        None if file is None else Where(file, line, step),
    )


def outcome_of(tests: Mapping[int, Test], number: int, status: str, score: float) -> Verdict:
    """The verdict of a row of `OUTCOMES`: how a test ended, and nothing of why."""
    test_id, exercise, aspect, max_score, visibility = tests[number]
    ended = _STATUSES[status]
    return Verdict(test_id, exercise, aspect, ended, score, max_score, visibility, 0.0)


def _diagnosis_row(diagnosis: Diagnosis) -> tuple[Any, ...]:
    return (
        well_formed(diagnosis.mistake),
        well_formed(diagnosis.explanation),
        well_formed(diagnosis.hint),
    )


def _measurement_row(measurement: Measurement) -> tuple[Any, ...]:
    place = _place(measurement.worst)
    return (*measurement.as_json().values(), measurement.wrong, measurement.total, place)


def _infinite_if_null(error: float | None) -> float:
    return math.inf if error is None else error


@functools.lru_cache(maxsize=4096)
def _place(index: tuple[int, ...]) -> str:
    """An index of a tensor as a text; a class has few of them, many times."""
    return json.dumps(index)


@functools.lru_cache(maxsize=4096)
def _index(text: str) -> tuple[int, ...]:
    """The index that `_place` wrote."""
    return tuple(json.loads(text))
