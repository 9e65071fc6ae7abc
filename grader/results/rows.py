"""Grades, words and people as JSON in the tables and lines of `results.jsonl`, and back."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from grader.core.evidence import Evidence
from grader.core.explanation import Words, explained
from grader.core.submission import Author
from grader.core.text import PlainData
from grader.core.verdict import (
    Aspect,
    Diagnosis,
    Grade,
    Measurement,
    Status,
    Verdict,
    Visibility,
)
from grader.core.wire.records import written

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LINES = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_BREAKS_LINES = re.compile("[\x80-\x9f\u2028\u2029]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_STATUSES = {status.value: status for status in Status}


def well_formed(text: str) -> str:
    """Returns the text with lone surrogates escaped, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def stored(value: object) -> str:
    """Returns plain data as JSON, whose texts are well-formed."""
    return _LONE_SURROGATE.sub(lambda char: rf"\\u{ord(char[0]):04x}", _ENCODER.encode(value))


def line_of(grade: Grade) -> str:
    """Returns a grade as JSON in one line, also for readers that split at other line breaks."""
    return _BREAKS_LINES.sub(lambda c: f"\\u{ord(c[0]):04x}", _LINES.encode(grade.as_json()))


class StoredTest(NamedTuple):
    """The part of a verdict that all submissions share."""

    id: str
    exercise: str
    aspect: Aspect
    max_score: float
    visibility: Visibility


def stored_tests(grade: Grade) -> str:
    """Returns the tests of a grade, which most submissions of a class share."""
    return stored(
        [StoredTest(t.id, t.exercise, t.aspect, t.max_score, t.visibility) for t in grade.tests]
    )


def stored_grade(grade: Grade) -> str:
    """Returns a grade without its words; each verdict is without its test."""
    verdicts = [(t.status, t.score, t.duration_s, t.message, t.measurement) for t in grade.tests]
    return stored(replace(grade, tests=()).as_json(whole=True) | {"tests": written(verdicts)})


def stored_words(words: Words) -> str:
    """Returns words without their evidence."""
    return stored(replace(words, evidence=Evidence()).as_json())


def tests_of(text: str) -> list[StoredTest]:
    """Returns the tests that `stored_tests` wrote."""
    rows = json.loads(text)
    return [
        StoredTest(t, name, Aspect(a), most, Visibility(shown)) for t, name, a, most, shown in rows
    ]


def grade_of(text: str, tests: Sequence[StoredTest]) -> Grade:
    """Returns the grade that `stored_grade` wrote."""
    row = json.loads(text)
    verdicts = tuple(map(_verdict, tests, row.pop("tests")))
    return replace(Grade.from_json({**row, "tests": ()}), tests=verdicts)


def _verdict(test: StoredTest, row: Sequence[Any]) -> Verdict:
    """Returns a verdict; `PlainData` takes longer, and each submission has hundreds."""
    test_id, exercise, aspect, max_score, visibility = test
    status, score, duration, message, measured = row
    if measured is not None:
        *errors, wrong, total, worst = measured
        measured = Measurement._make([*map(float, errors), wrong, total, tuple(worst)])
    return Verdict(
        test_id,
        exercise,
        aspect,
        _STATUSES[status],
        score,
        max_score,
        visibility,
        float(duration),
        message,
        measured,
    )


def with_words(grade: Grade, words: str, named: str | None) -> Grade:
    """Returns the grade with its words, and the mistakes that an instructor `named`."""
    told = Words.from_json(json.loads(words))
    grade = explained(grade, told)
    names = {exercise: Diagnosis(*said) for exercise, said in json.loads(named or "{}").items()}
    tests = tuple(
        test._replace(diagnosis=names[test.exercise])
        if test.exercise in names
        and test.id in told.tests
        and test.status is Status.FAILED
        and test.diagnosis is None
        else test
        for test in grade.tests
    )
    return replace(grade, tests=tests) if names else grade


@dataclass(frozen=True, slots=True)
class People(PlainData):
    """The people of a batch: authors by submission, the names of late submissions, and absentees.

    `times` are the times of handing in that a platform recorded, by submission. `unsure` says why
    it is not certain whose a submission is.
    """

    authors: Mapping[str, tuple[Author, ...]] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    absentees: tuple[Author, ...] = ()
    times: Mapping[str, datetime.datetime] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)
