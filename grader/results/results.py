"""The grades in a folder, for reading."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.core.evidence import Evidence
from grader.core.explanation import WrongAnswers
from grader.core.files import replaced
from grader.core.late_rule import LateRule
from grader.core.verdict import Grade
from grader.results.database import StoreError, connect, saying, value_of
from grader.results.rows import (
    CARRIED,
    OF_A_SUBMISSION,
    OF_A_TEST,
    VERDICTS,
    People,
    Test,
    grade_of,
    line_of,
    test_of,
    verdict_of,
    well_formed,
)

_NOTES_OF_ONE = "SELECT text FROM note WHERE submission = ? ORDER BY place"
_EVIDENCE_OF_ONE = "SELECT data FROM evidence WHERE submission = ?"
_SUBMISSIONS = f"SELECT number, {OF_A_SUBMISSION} FROM submission"
_IN_CLASS_ORDER = f"{_SUBMISSIONS} ORDER BY position, name"
_WRONG_ANSWERS = (
    "SELECT name, data FROM wrong_answers JOIN submission ON number = submission "
    "ORDER BY position, name, place"
)


class Results:
    """The grades in a folder, for reading; while a batch runs, those that have arrived.

    `state` is the name of the state in which the store was opened; results of one state are the
    same. It is empty if the state is not known. `people` are the authors of submissions, and the
    absentees. Every method raises `StoreError` if SQLite cannot read the file.
    """

    def __init__(self, file: Path, assignment: str, people: People, state: str) -> None:
        self.file = file
        self.people = people
        self.assignment = assignment
        self.state = state

    @property
    def folder(self) -> Path:
        """Returns the folder of the store."""
        return self.file.parent

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Opens the file; all that is read inside is of one state."""
        with (
            saying(self.file, "read"),
            contextlib.closing(connect(self.file, "ro")) as database,
        ):
            database.execute("BEGIN")
            yield database

    def grades(self) -> Iterator[Grade]:
        """Yields the grades in class order, one at a time, as they are when iteration begins."""
        with self._reading() as db:
            tests = numbered_tests(db)
            for row in db.execute(_IN_CLASS_ORDER):
                yield _grade(db, tests, row)

    def grades_of(self, submissions: Iterable[str], whole: bool = False) -> Iterator[Grade]:
        """Yields the grades of some submissions, in their order; skips submissions without a grade.

        If `whole`, a grade also has its evidence.
        """
        named = f"{_SUBMISSIONS} WHERE name = ?"
        with self._reading() as db:
            tests = numbered_tests(db)
            for name in submissions:
                row = db.execute(named, (well_formed(name),)).fetchone()
                if row is not None:
                    grade = _grade(db, tests, row)
                    yield replace(grade, evidence=_evidence(db, row[0])) if whole else grade

    def grade(self, submission: str) -> Grade | None:
        """Returns the grade of a submission, if it has one."""
        return next(self.grades_of([submission]), None)

    def late_rule(self) -> LateRule | None:
        """Returns the late rule that the assignment had when the batch ran; None if it had none."""
        found = self._of_the_batch("late")
        return LateRule.from_json(found) if found else None

    def tests(self) -> dict[str, str]:
        """Returns, by test id, the exercise of each test that has a verdict in some grade."""
        used = "SELECT id, exercise FROM test WHERE number IN (SELECT test FROM verdict)"
        with self._reading() as db:
            return dict(db.execute(f"{used} ORDER BY number"))

    def submissions(self) -> list[str]:
        """Returns the names of the submissions that have a grade, in class order."""
        with self._reading() as db:
            named = db.execute("SELECT name FROM submission ORDER BY position, name")
            return [name for (name,) in named]

    def submission_hashes(self) -> dict[str, str]:
        """Returns the hash of each submission that has a grade, by its name."""
        with self._reading() as database:
            return dict(database.execute("SELECT name, submission_hash FROM submission"))

    def unexplained(self) -> dict[str, str]:
        """Returns why words of submissions are missing, by name, in class order."""
        missing = "SELECT name, unexplained FROM submission WHERE unexplained IS NOT NULL"
        with self._reading() as db:
            return dict(db.execute(f"{missing} ORDER BY position, name"))

    def lacking_packages(self) -> dict[str, int]:
        """Returns how many submissions lack each package, the commonest first."""
        counted = "SELECT name, COUNT(*) FROM lacking GROUP BY name ORDER BY 2 DESC, name"
        with self._reading() as db:
            return dict(db.execute(counted))

    def wrong_answers(self) -> dict[str, list[WrongAnswers]]:
        """Returns, by submission in class order, the answers that no known mistake explains."""
        with self._reading() as db:
            found: dict[str, list[WrongAnswers]] = {}
            for name, data in db.execute(_WRONG_ANSWERS):
                found.setdefault(name, []).append(WrongAnswers.from_json(json.loads(data)))
            return found

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
        try:
            with (
                replaced(path) as partial,
                partial.open("w", encoding="utf-8", newline="\n") as file,
                saying(self.file, "read"),
            ):
                file.writelines(f"{line_of(grade)}\n" for grade in self.grades())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def numbered_tests(database: sqlite3.Connection) -> dict[int, Test]:
    """Returns the tests by their numbers."""
    rows = database.execute(f"SELECT number, {OF_A_TEST} FROM test")
    return {number: test_of(test) for number, *test in rows}


def _grade(database: sqlite3.Connection, tests: Mapping[int, Test], row: Sequence[Any]) -> Grade:
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
    row = database.execute(_EVIDENCE_OF_ONE, (number,)).fetchone()
    return Evidence() if row is None else Evidence.unpacked(row[0])
