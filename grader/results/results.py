"""The grades in a folder, for reading."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.core.evidence import Evidence
from grader.core.explanation import WrongAnswers
from grader.core.points import LateRule
from grader.core.submission import Author, ClassImports
from grader.core.verdict import Grade, GradeStatus, Verdict
from grader.results.database import StoreError, connect, saying
from grader.results.earlier import read_class_imports, read_wrong
from grader.results.rows import (
    CARRIED,
    OF_A_SUBMISSION,
    OF_A_TEST,
    OUTCOMES,
    PLACED_OUTCOMES,
    REMARKABLE,
    VERDICTS,
    GradeLines,
    People,
    Test,
    grade_of,
    outcome_of,
    test_of,
    verdict_of,
    well_formed,
)

_NOTES_OF_ONE = "SELECT text FROM note WHERE submission = ? ORDER BY place"
_EVIDENCE_OF_ONE = "SELECT data FROM evidence WHERE submission = ?"
_SUBMISSIONS = f"SELECT number, {OF_A_SUBMISSION} FROM submission"
_IN_CLASS_ORDER = f"{_SUBMISSIONS} ORDER BY position, name"
_OUTLINES = (
    "SELECT name, CASE WHEN finished THEN status ELSE 'not_graded' END, score, max_score "
    "FROM submission ORDER BY position, name"
)


@dataclass(frozen=True, slots=True)
class Outline:
    """A grade without its verdicts; *not graded* also if a single test was not judged."""

    submission: str
    status: GradeStatus
    score: float
    max_score: float


class Results:
    """The grades in a folder, for reading; while a batch runs, those that have arrived.

    `state` is the name of the state in which the store was opened; results of one state are the
    same. It is empty if the state is not known.
    """

    def __init__(self, file: Path, assignment: str, people: People, state: str) -> None:
        self._file = file
        self._people = people
        self.assignment = assignment
        self.state = state

    @property
    def file(self) -> Path:
        """Returns the store's file."""
        return self._file

    @property
    def people(self) -> People:
        """Returns the people of the batch: authors of submissions, and absentees."""
        return self._people

    @property
    def folder(self) -> Path:
        """Returns the folder of the store."""
        return self._file.parent

    @property
    def authors(self) -> Mapping[str, tuple[Author, ...]]:
        """Returns each submission's authors by its name, without submissions of unknown authors."""
        return self._people.authors

    @property
    def late(self) -> frozenset[str]:
        """Returns the names of submissions that a platform called late."""
        return self._people.late

    @property
    def times(self) -> Mapping[str, datetime.datetime]:
        """Returns the times of handing in that a platform recorded."""
        return self._people.times

    @property
    def unsure(self) -> Mapping[str, str]:
        """Returns, by submission, why it is not certain whose it is."""
        return self._people.unsure

    @property
    def absentees(self) -> tuple[Author, ...]:
        """Returns the people on the roster without a submission; none if there is no roster."""
        return self._people.absentees

    def grades(self, first: int = -1) -> Iterator[Grade]:
        """Yields the grades in class order, one at a time, as they are when the iteration begins.

        If `first` is not negative, yields that many of them.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            tests = numbered_tests(db)
            for row in db.execute(f"{_IN_CLASS_ORDER} LIMIT ?", (first,)):
                yield _grade(db, tests, row)

    def bare_grades(self) -> Iterator[Grade]:
        """Yields the grades in class order, with only the outcome and points of each verdict.

        Settling needs no more, and this takes a third of the time of whole grades.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            tests = numbered_tests(db)
            known: dict[tuple[int, str, float], Verdict] = {}
            for number, *row in db.execute(_IN_CLASS_ORDER):
                bare = db.execute(OUTCOMES, (number,)).fetchall()
                for one in bare:
                    if one not in known:
                        known[one] = outcome_of(tests, *one)
                verdicts = tuple([known[one] for one in bare])
                yield grade_of(row, verdicts, (), db.execute(CARRIED, (number,)))

    def told_grades(self) -> Iterator[Grade]:
        """Yields the grades in class order, with the words of each verdict.

        Leaves out the duration and the measurement of tests that passed without any message.
        Reading them is most of the cost of reading a store.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            tests = numbered_tests(db)
            known: dict[tuple[int, str, float], Verdict] = {}
            for number, *row in db.execute(_IN_CLASS_ORDER):
                said = {
                    place: verdict_of(tests, verdict)
                    for place, *verdict in db.execute(REMARKABLE, (number,))
                }
                verdicts = []
                for place, *ended in db.execute(PLACED_OUTCOMES, (number,)):
                    one = said.get(place) or known.get(key := tuple(ended))
                    if one is None:
                        one = known[key] = outcome_of(tests, *key)
                    verdicts.append(one)
                notes = tuple(text for (text,) in db.execute(_NOTES_OF_ONE, (number,)))
                yield grade_of(row, tuple(verdicts), notes, db.execute(CARRIED, (number,)))

    def grades_of(self, submissions: Iterable[str], whole: bool = False) -> Iterator[Grade]:
        """Yields the grades of some submissions, in their order; skips submissions without a grade.

        If `whole`, a grade also has its evidence.

        Raises:
            StoreError: if the file is damaged.
        """
        named = f"{_SUBMISSIONS} WHERE name = ?"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            tests = numbered_tests(db)
            for name in submissions:
                row = db.execute(named, (well_formed(name),)).fetchone()
                if row is not None:
                    grade = _grade(db, tests, row)
                    yield replace(grade, evidence=_evidence(db, row[0])) if whole else grade

    def grade(self, submission: str) -> Grade | None:
        """Returns the grade of a submission, if it has one.

        Raises:
            StoreError: if the file is damaged.
        """
        return next(self.grades_of([submission]), None)

    def outlines(self) -> list[Outline]:
        """Returns each submission's outline for a table of the class, in the order of the class.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return [
                Outline(name, GradeStatus(status), score, max_score)
                for name, status, score, max_score in db.execute(_OUTLINES)
            ]

    def verdicts(self, submission: str) -> tuple[Verdict, ...]:
        """Returns the verdicts on a submission; none, if it has no grade.

        Raises:
            StoreError: if the file is damaged.
        """
        numbered = "SELECT number FROM submission WHERE name = ?"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            row = db.execute(numbered, (well_formed(submission),)).fetchone()
            if row is None:
                return ()
            tests = numbered_tests(db)
            of_one = db.execute(VERDICTS, row)
            return tuple(verdict_of(tests, row) for row in of_one)

    def late_rule(self) -> LateRule | None:
        """Returns the late rule that the assignment had when the batch ran; None if it had none.

        Raises:
            StoreError: if the file is damaged.
        """
        query = "SELECT value FROM batch WHERE key = 'late'"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            row = db.execute(query).fetchone()
        found = json.loads(row[0]) if row else None
        return LateRule.from_json(found) if found else None

    def tests(self) -> dict[str, str]:
        """Returns, by test id, the exercise of each test that has a verdict in some grade.

        Raises:
            StoreError: if the file is damaged.
        """
        used = "SELECT id, exercise FROM test WHERE number IN (SELECT test FROM verdict)"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return dict(db.execute(f"{used} ORDER BY number"))

    def count_unexplained(self) -> int:
        """Returns how many submissions have no words, or only some of them.

        Raises:
            StoreError: if the file is damaged.
        """
        counted = "SELECT COUNT(*) FROM submission WHERE unexplained IS NOT NULL"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return int(db.execute(counted).fetchone()[0])

    def class_imports(self) -> ClassImports:
        """Returns the installed packages that the submissions import, and the missing packages.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return read_class_imports(db)

    def wrong_answers(self) -> dict[str, list[WrongAnswers]]:
        """Returns, by submission in class order, the answers that no known mistake explains.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return read_wrong(db)

    def options(self) -> dict[str, Any] | None:
        """Returns the options of the batch that `Store.set_options` stored, if any.

        Raises:
            StoreError: if the file is damaged.
        """
        value = self._of_the_batch("options")
        return None if value is None else dict(json.loads(value))

    def paths(self) -> list[str]:
        """Returns the paths in which the submissions were when they were last graded.

        Raises:
            StoreError: if the file is damaged.
        """
        value = self._of_the_batch("paths")
        return [] if value is None else list(json.loads(value))

    def downloads(self) -> dict[str, tuple[str, ...]]:
        """Returns, by submission, the names of its files and folders in a platform's download.

        Raises:
            StoreError: if the file is damaged.
        """
        value = self._of_the_batch("downloads")
        found = {} if value is None else json.loads(value)
        return {name: tuple(files) for name, files in found.items()}

    def numbers(self) -> dict[str, int]:
        """Returns the numbers that stand in place of names, by submission.

        Raises:
            StoreError: if the file is damaged.
        """
        value = self._of_the_batch("numbers")
        return {} if value is None else dict(json.loads(value))

    def _of_the_batch(self, key: str) -> str | None:
        """Returns the stored value of a key of the batch; None if there is none."""
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            row = db.execute("SELECT value FROM batch WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def write_jsonl(self, path: Path) -> None:
        """Writes `results.jsonl`, with one line for each submission; writes all of it or nothing.

        Raises:
            StoreError: if it cannot be written.
        """
        partial = path.with_name(f".{path.name}.partial")
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as lines:
                for line in self._lines():
                    lines.write(line + "\n")
                lines.flush()
                os.fsync(lines.fileno())
            partial.replace(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error

    def _lines(self) -> Iterator[str]:
        """Yields the lines of `results.jsonl`, one at a time."""
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            lines = GradeLines(numbered_tests(db))
            for number, *row in db.execute(_IN_CLASS_ORDER):
                grade = grade_of(row, (), (), db.execute(CARRIED, (number,)))
                yield lines.line(grade, db.execute(VERDICTS, (number,)))


def numbered_tests(database: sqlite3.Connection) -> dict[int, Test]:
    """Returns the tests by their numbers."""
    rows = database.execute(f"SELECT number, {OF_A_TEST} FROM test")
    return {number: test_of(test) for number, *test in rows}


def _grade(database: sqlite3.Connection, tests: Mapping[int, Test], row: Sequence[Any]) -> Grade:
    """Returns the grade of a row of `_SUBMISSIONS`."""
    number, *of_the_submission = row
    verdicts = database.execute(VERDICTS, (number,))
    notes = database.execute(_NOTES_OF_ONE, (number,))
    return grade_of(
        of_the_submission,
        tuple([verdict_of(tests, verdict) for verdict in verdicts]),
        tuple(text for (text,) in notes),
        database.execute(CARRIED, (number,)),
    )


def _evidence(database: sqlite3.Connection, number: int) -> Evidence:
    """Returns the evidence of the submission with this number."""
    row = database.execute(_EVIDENCE_OF_ONE, (number,)).fetchone()
    return Evidence() if row is None else Evidence.unpacked(row[0])
