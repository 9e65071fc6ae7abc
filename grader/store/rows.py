"""Grades as rows of the tables, and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from grader.verdict import (Aspect, Diagnosis, Grade, GradeStatus, Measurement, Status, Verdict, Visibility, Where)

OF_A_SUBMISSION = (
    "name, status, score, max_score, seed, submission_hash, suite_hash, duration_s, message, "
    "isolation"
)
OF_A_VERDICT = (
    "test, status, score, duration_s, message, max_abs_error, max_rel_error, rtol, atol, "
    "error_over_tolerance, mistake, explanation, hint, file, line, step"
)
ADD_SUBMISSION = (
    f"INSERT INTO submission ({OF_A_SUBMISSION}, position, key, finished) "
    f"VALUES ({', '.join('?' * 13)})"
)
ADD_VERDICT = (
    f"INSERT INTO verdict (submission, place, {OF_A_VERDICT}) VALUES ({', '.join('?' * 18)})"
)


def is_finished(grade: Grade) -> bool:
    if grade.status is GradeStatus.NOT_GRADED:
        return False
    return all(verdict.status is not Status.NOT_GRADED for verdict in grade.tests)


def _text(text: str | None) -> Any:
    """The text; halves of surrogate pairs, which UTF-8 does not have, are escaped."""
    return text and text.encode("utf-8", "backslashreplace").decode("utf-8")


def row_of_test(verdict: Verdict) -> TestRow:
    return verdict.id, verdict.exercise, verdict.aspect, verdict.max_score, verdict.visibility


def submission_row(grade: Grade) -> tuple[Any, ...]:
    return (
        _text(grade.submission),
        grade.status,
        grade.score,
        grade.max_score,
        grade.seed,
        grade.submission_hash,
        grade.suite_hash,
        grade.duration_s,
        _text(grade.message),
        json.dumps(dict(grade.isolation)),
    )


def verdict_row(verdict: Verdict) -> tuple[Any, ...]:
    measurement, diagnosis, where = verdict.measurement, verdict.diagnosis, verdict.where
    return (
        verdict.status,
        verdict.score,
        verdict.duration_s,
        _text(verdict.message),
        *(measurement.as_json().values() if measurement else (None,) * 5),
        *(map(_text, dataclasses.astuple(diagnosis)) if diagnosis else (None,) * 3),
        *((_text(where.file), where.line, _text(where.step)) if where else (None,) * 3),
    )


def grade_of(row: Sequence[Any], tests: tuple[Verdict, ...]) -> Grade:
    name, status, *numbers, message, isolation = row
    return Grade(name, GradeStatus(status), *numbers, message, json.loads(isolation), tests)


def verdict_of(test: Sequence[Any], row: Sequence[Any]) -> Verdict:
    test_id, exercise, aspect, max_score, visibility = test
    status, score, duration_s, message, *rest = row
    errors, (mistake, explanation, hint), (file, line, step) = rest[:5], rest[5:8], rest[8:]
    measured: Mapping[str, float | None] = dict(zip(Measurement.__slots__, errors, strict=True))
    return Verdict(
        id=test_id,
        exercise=exercise,
        aspect=Aspect(aspect),
        status=Status(status),
        score=score,
        max_score=max_score,
        visibility=Visibility(visibility),
        duration_s=duration_s,
        message=message,
        measurement=None if measured["rtol"] is None else Measurement.from_json(measured),
        diagnosis=None if mistake is None else Diagnosis(mistake, explanation, hint),
        where=None if file is None else Where(file, line, step),
    )
