"""The grades in a folder, for reading."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
from collections import Counter
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
    People,
    StoredTest,
    grade_of,
    line_of,
    tests_of,
    well_formed,
    with_words,
)

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
