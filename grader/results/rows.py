"""Grades and people as rows of the tables and lines of `results.jsonl`, and back."""

from __future__ import annotations

import datetime
import functools
import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

from grader.core.explanation import Told
from grader.core.submission import Author
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

_OF_A_GRADE = (
    "name, status, score, max_score, seed, submission_hash, suite_hash, duration_s, message, "
    "isolation"
)
OF_A_SUBMISSION = f"{_OF_A_GRADE}, said, unexplained"
_ERRORS = (
    "max_abs_error", "max_rel_error", "rtol", "atol", "error_over_tolerance", "wrong", "total",
    "worst",
)  # fmt: skip
OF_WORDS = (
    "message", *_ERRORS, "mistake", "explanation", "hint", "file", "line", "step", "named",
)  # fmt: skip
_OF_A_VERDICT = f"test, status, score, message, {', '.join(_ERRORS)}, duration_s"
_IN_WORDS = ", ".join(f"COALESCE(words.{name}, verdict.{name})" for name in ("message", *_ERRORS))
# The verdicts of a submission, each with its words if it has any.
VERDICTS = (
    f"SELECT test, status, score, {_IN_WORDS}, mistake, explanation, hint, file, line, step, "
    "duration_s FROM verdict LEFT JOIN words USING (submission, place) "
    "WHERE verdict.submission = ? ORDER BY verdict.place"
)
OF_A_TEST = "id, exercise, aspect, max_score, visibility"
ADD_TEST = f"INSERT INTO test ({OF_A_TEST}) VALUES (?, ?, ?, ?, ?)"
_STORED = f"{_OF_A_GRADE}, position, key, finished"
# A grade replaces an earlier one in its row, but not the words about it.
ADD_SUBMISSION = (
    f"INSERT INTO submission ({_STORED}, unexplained) VALUES ({', '.join('?' * 14)}) "
    f"ON CONFLICT (name) DO UPDATE SET ({_STORED}) = "
    f"({', '.join(f'excluded.{name}' for name in _STORED.split(', '))})"
)
ADD_VERDICT = (
    f"INSERT INTO verdict (submission, place, {_OF_A_VERDICT}) VALUES ({', '.join('?' * 15)})"
)
ADD_WORDS = (
    f"INSERT OR REPLACE INTO words (submission, place, {', '.join(OF_WORDS)}) "
    f"VALUES ({', '.join('?' * 18)})"
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
    """Returns the text with lone surrogates escaped, which UTF-8 cannot encode."""
    return text and text.encode("utf-8", "backslashreplace").decode("utf-8")


def row_of_test(verdict: Verdict) -> TestRow:
    """Returns the test of a verdict: its id, exercise, aspect, points and visibility."""
    return (
        verdict.id,
        verdict.exercise,
        verdict.aspect.value,
        verdict.max_score,
        verdict.visibility.value,
    )


def submission_row(grade: Grade) -> tuple[Any, ...]:
    """Returns a grade without its verdicts and words, in the order of the table."""
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
    )


def verdict_row(verdict: Verdict) -> tuple[Any, ...]:
    """Returns a verdict without its test and its words, in the order of the table."""
    measurement = verdict.measurement
    return (
        verdict.status.value,
        verdict.score,
        well_formed(verdict.message),
        *(_measurement_row(measurement) if measurement else _UNKNOWN * 8),
        verdict.duration_s,
    )


def words_row(told: Told) -> tuple[Any, ...]:
    """Returns the explanation of one verdict as a row, in the order of the table."""
    measurement, diagnosis, where = told.measurement, told.diagnosis, told.where
    place = (well_formed(where.file), where.line, well_formed(where.step)) if where else None
    return (
        well_formed(told.message),
        *(_measurement_row(measurement) if measurement else _UNKNOWN * 8),
        *(map(well_formed, astuple(diagnosis)) if diagnosis else _UNKNOWN * 3),
        *(place or _UNKNOWN * 3),
        False,
    )


def grade_of(
    row: Sequence[Any],
    tests: tuple[Verdict, ...],
    notes: tuple[str, ...],
    carried: Iterable[Sequence[Any]],
) -> Grade:
    """Returns the grade of a row of `OF_A_SUBMISSION`, with what else is known of it."""
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
    """Returns the test that `row_of_test` wrote."""
    test_id, exercise, aspect, max_score, visibility = row
    return test_id, exercise, Aspect(aspect), max_score, Visibility(visibility)


def verdict_of(tests: Mapping[int, Test], row: Sequence[Any]) -> Verdict:
    """Returns the verdict of a row of `VERDICTS`.

    Each submission has hundreds of verdicts: reading them is most of the cost of reading a store.
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
            largest, relative, rtol, atol, ratio = (
                math.inf if error is None else error for error in errors
            )
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


def _measurement_row(measurement: Measurement) -> tuple[Any, ...]:
    place = json.dumps(measurement.worst)
    return (*measurement.as_json().values(), measurement.wrong, measurement.total, place)


@functools.lru_cache(maxsize=4096)
def _index(text: str) -> tuple[int, ...]:
    """Returns the index of a tensor in a text; a class has few different ones."""
    return tuple(json.loads(text))


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_BREAKS_LINES = re.compile("[\x80-\x9f\u2028\u2029]")


def line_of(grade: Grade) -> str:
    """Returns a grade as JSON in one line, also for readers that split at other line breaks."""
    text = _ENCODER.encode(grade.as_json())
    return _BREAKS_LINES.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


_OF_AN_AUTHOR = "name, id, email"


@dataclass(frozen=True, slots=True)
class People:
    """The people of a batch: authors by submission, the names of late submissions, and absentees.

    `times` are the times of handing in that a platform recorded, by submission. `unsure` says why
    it is not certain whose a submission is.
    """

    authors: Mapping[str, tuple[Author, ...]] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    absentees: tuple[Author, ...] = ()
    times: Mapping[str, datetime.datetime] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)


def read_people(database: sqlite3.Connection) -> People:
    """Returns the people of a store."""
    authors: dict[str, tuple[Author, ...]] = {}
    ordered = f"SELECT submission, {_OF_AN_AUTHOR} FROM author ORDER BY submission, place"
    for submission, *author in database.execute(ordered):
        authors[submission] = (*authors.get(submission, ()), Author(*author))
    late = frozenset(name for (name,) in database.execute("SELECT submission FROM late"))
    absentees = database.execute(f"SELECT {_OF_AN_AUTHOR} FROM absentee ORDER BY place")
    times = database.execute("SELECT submission, at FROM handed_in")
    return People(
        authors,
        late,
        tuple(Author(*row) for row in absentees),
        {name: datetime.datetime.fromisoformat(at) for name, at in times},
        dict(database.execute("SELECT submission, why FROM unsure")),
    )


def write_people(database: sqlite3.Connection, people: People) -> None:
    """Writes the people in place of those that the store held."""
    tables: dict[str, list[tuple[Any, ...]]] = {
        "author": [
            (submission, place, *astuple(author))
            for submission, authors in people.authors.items()
            for place, author in enumerate(authors)
        ],
        "late": [(name,) for name in people.late],
        "absentee": [(place, *astuple(author)) for place, author in enumerate(people.absentees)],
        "unsure": [*people.unsure.items()],
        "handed_in": [(name, at.isoformat()) for name, at in people.times.items()],
    }
    for table, rows in tables.items():
        database.execute(f"DELETE FROM {table}")
        for row in rows:
            cells = [well_formed(cell) if isinstance(cell, str) else cell for cell in row]
            marks = ", ".join("?" * len(cells))
            database.execute(f"INSERT INTO {table} VALUES ({marks})", cells)
