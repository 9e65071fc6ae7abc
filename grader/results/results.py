"""The grades in a folder, for reading: the rows of tables, and the lines of `results.jsonl`."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from grader.core.evidence import Evidence
from grader.core.explanation import Words, WrongAnswers, explained
from grader.core.files import refusing, replaced
from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.core.text import PlainData
from grader.core.verdict import Aspect, Diagnosis, Grade, Measurement, Status, Verdict, Visibility
from grader.core.wire.records import written
from grader.results.database import LINES, StoreError, connect, saying, stamp_of, value_of

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


_SUBMISSIONS = "SELECT suite, grade, unexplained, words, named, evidence FROM submission"
_IN_CLASS_ORDER = "ORDER BY position, name"


class Results:
    """The grades in a folder, for reading; while a batch runs, those that have arrived.

    `people` are the authors of submissions, and the absentees. Every method raises `StoreError` if
    SQLite cannot read the file.
    """

    def __init__(self, file: Path, assignment: str, people: People) -> None:
        self.file = file
        self.people = people
        self.assignment = assignment

    @property
    def folder(self) -> Path:
        """Returns the folder of the store."""
        return self.file.parent

    @property
    def state(self) -> str:
        """Returns a text that changes with the results; "" if `results.jsonl` is not current."""
        with self._reading() as db:
            noted = value_of(db, "lines")
        return noted if noted == stamp_of(self.folder / LINES) else ""

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Opens the file; all that is read inside is of one state."""
        with (
            saying(self.file, "read"),
            contextlib.closing(connect(self.file)) as database,
        ):
            database.execute("BEGIN")
            yield database

    def grades(self) -> Iterator[Grade]:
        """Yields the grades in class order, one at a time, as they are when iteration begins."""
        with self._reading() as db:
            tests = _suites(db)
            for row in db.execute(f"{_SUBMISSIONS} {_IN_CLASS_ORDER}"):
                yield _grade(tests, row)

    def grades_of(self, submissions: Iterable[str], whole: bool = False) -> Iterator[Grade]:
        """Yields the grades of some submissions, in their order; skips submissions without a grade.

        If `whole`, a grade also has its evidence.
        """
        with self._reading() as db:
            tests = _suites(db)
            for name in submissions:
                named = db.execute(f"{_SUBMISSIONS} WHERE name = ?", (well_formed(name),))
                for row in named:
                    yield _grade(tests, row, whole)

    def grade(self, submission: str) -> Grade | None:
        """Returns the grade of a submission, if it has one."""
        return next(self.grades_of([submission]), None)

    def late_rule(self) -> LateRule | None:
        """Returns the late rule that the assignment had when the batch ran; None if it had none."""
        found = self._of_the_batch("late")
        return LateRule.from_json(found) if found else None

    def tests(self) -> dict[str, str]:
        """Returns, by test id, the exercise of each test that has a verdict in some grade."""
        used = "SELECT tests FROM suite WHERE number IN (SELECT suite FROM submission)"
        return {t.id: t.exercise for (text,) in self._rows(used) for t in tests_of(text)}

    def submissions(self) -> list[str]:
        """Returns the names of the submissions that have a grade, in class order."""
        return [name for (name,) in self._rows(f"SELECT name FROM submission {_IN_CLASS_ORDER}")]

    def submission_hashes(self) -> dict[str, str]:
        """Returns the hash of each submission that has a grade, by its name."""
        return dict(self._rows("SELECT name, hash FROM submission"))

    def unexplained(self) -> dict[str, str]:
        """Returns why words of submissions are missing, by name, in class order."""
        missing = "SELECT name, unexplained FROM submission WHERE unexplained IS NOT NULL"
        return dict(self._rows(f"{missing} {_IN_CLASS_ORDER}"))

    def lacking(self) -> dict[str, set[str]]:
        """Returns the packages that were not installed for a submission, by its name."""
        found = self._rows("SELECT name, absent FROM submission WHERE absent != '[]'")
        return {name: {*json.loads(packages)} for name, packages in found}

    def lacking_packages(self) -> dict[str, int]:
        """Returns how many submissions lack each package, the commonest first."""
        counts = Counter(sorted(itertools.chain.from_iterable(self.lacking().values())))
        return dict(counts.most_common())

    def wrong_answers(self) -> dict[str, list[WrongAnswers]]:
        """Returns, by submission in class order, the answers that no known mistake explains."""
        told = "SELECT name, words FROM submission WHERE words IS NOT NULL"
        rows = self._rows(f"{told} {_IN_CLASS_ORDER}")
        found = {name: json.loads(words)["wrong"] for name, words in rows}
        return {
            name: [*map(WrongAnswers.from_json, wrong)] for name, wrong in found.items() if wrong
        }

    def _rows(self, query: str) -> list[Any]:
        with self._reading() as db:
            return db.execute(query).fetchall()

    def options(self) -> dict[str, Any] | None:
        """Returns the options of the batch that `Store.remember` stored, if any."""
        found: dict[str, Any] | None = self._of_the_batch("options")
        return found

    def paths(self) -> list[str]:
        """Returns the paths in which the submissions were when they were last graded."""
        return list(self._of_the_batch("paths") or ())

    def downloads(self) -> dict[str, tuple[str, ...]]:
        """Returns, by submission, the names of its files and folders in a platform's download."""
        found = self._of_the_batch("downloads") or {}
        return {name: tuple(files) for name, files in found.items()}

    def numbers(self) -> dict[str, int]:
        """Returns the numbers that stand in place of names, by submission."""
        return dict(self._of_the_batch("numbers") or {})

    def _of_the_batch(self, key: str) -> Any:
        """Returns the stored value of a key of the batch; None if there is none."""
        with self._reading() as db:
            return json.loads(value_of(db, key) or "null")

    def write_jsonl(self, path: Path) -> None:
        """Writes `results.jsonl`, with one line for each submission; writes all of it or nothing.

        Raises:
            StoreError: if it cannot be written.
        """
        with (
            refusing(StoreError, f"{path} cannot be written"),
            replaced(path) as partial,
            partial.open("w", encoding="utf-8", newline="\n") as file,
            saying(self.file, "read"),
        ):
            file.writelines(f"{line_of(grade)}\n" for grade in self.grades())
            file.flush()
            os.fsync(file.fileno())


def _suites(database: sqlite3.Connection) -> dict[int, list[StoredTest]]:
    rows = database.execute("SELECT number, tests FROM suite")
    return {number: tests_of(tests) for number, tests in rows}


def _grade(
    suites: Mapping[int, list[StoredTest]], row: Sequence[Any], whole: bool = False
) -> Grade:
    suite, text, unexplained, words, named, evidence = row
    grade = grade_of(text, suites[suite])
    if words is not None:
        grade = with_words(grade, words, named)
    shown = Evidence.unpacked(evidence) if whole and evidence else Evidence()
    return replace(grade, unexplained=unexplained, evidence=shown)
