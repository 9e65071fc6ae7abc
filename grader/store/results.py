"""The grades in a folder, for reading."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.evidence import Evidence
from grader.imports import ClassImports
from grader.store.database import StoreError, connect, saying
from grader.store.parts import read_class_imports
from grader.store.people import People
from grader.store.rows import (
    OF_A_SUBMISSION,
    OF_A_TEST,
    OF_A_VERDICT,
    grade_of,
    test_of,
    verdict_of,
    well_formed,
)
from grader.submission import Author
from grader.verdict import Grade, GradeStatus, Verdict

_VERDICTS_OF_ONE = f"SELECT {OF_A_VERDICT} FROM verdict WHERE submission = ? ORDER BY place"
_SUBMISSIONS = f"SELECT number, {OF_A_SUBMISSION} FROM submission"
_OUTLINES = (
    "SELECT name, CASE WHEN finished THEN status ELSE 'not_graded' END, score, max_score "
    "FROM submission ORDER BY position, name"
)
_BREAKS_LINES = re.compile("[\x80-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Outline:
    """A grade without its verdicts; not graded is also one of which a test was not."""

    submission: str
    status: GradeStatus
    score: float
    max_score: float


class Results:
    """The grades in a folder, for reading; while a batch runs, those that have arrived.

    `state` is a name for all that was there when it was opened: results of one state are the same.
    Where it is not known, it is empty.
    """

    def __init__(self, file: Path, assignment: str, people: People, state: str) -> None:
        self._file = file
        self._people = people
        self.assignment = assignment
        self.state = state

    @property
    def authors(self) -> Mapping[str, tuple[Author, ...]]:
        """Who handed each submission in, by its name; those of unknown authors are left out."""
        return self._people.authors

    @property
    def late(self) -> frozenset[str]:
        """The names of the submissions that were handed in late, as far as a platform told."""
        return self._people.late

    @property
    def absentees(self) -> tuple[Author, ...]:
        """Who is on the roster and handed in nothing; nobody where no roster was given."""
        return self._people.absentees

    def grades(self, first: int = -1) -> Iterator[Grade]:
        """The grades in the order of the class, one at a time: as they are when this begins.

        If only the `first` of them are wanted, these.

        Raises:
            StoreError: if the file is damaged.
        """
        ordered = f"{_SUBMISSIONS} ORDER BY position, name LIMIT ?"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            yield from _grades(db, ordered, first)

    def grade(self, submission: str) -> Grade | None:
        """The grade of a submission, if it has one.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            named = f"{_SUBMISSIONS} WHERE name = ?"
            return next(_grades(db, named, well_formed(submission)), None)

    def outlines(self) -> list[Outline]:
        """What a table of the class says of each submission, in the order of the class.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return [
                Outline(name, GradeStatus(status), score, max_score)
                for name, status, score, max_score in db.execute(_OUTLINES)
            ]

    def verdicts(self, submission: str) -> tuple[Verdict, ...]:
        """The verdicts on a submission; none, if it has no grade.

        Raises:
            StoreError: if the file is damaged.
        """
        numbered = "SELECT number FROM submission WHERE name = ?"
        known = f"SELECT number, {OF_A_TEST} FROM test"
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            row = db.execute(numbered, (well_formed(submission),)).fetchone()
            if row is None:
                return ()
            tests = {number: test_of(test) for number, *test in db.execute(known)}
            of_one = db.execute(_VERDICTS_OF_ONE, row)
            return tuple(verdict_of(tests, row) for row in of_one)

    def class_imports(self) -> ClassImports:
        """What the submissions import of installed packages, and which are not there.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            return read_class_imports(db)

    def evidence(self, submission: str) -> Evidence:
        """What there is to see of a submission beside its verdicts; nothing, if it has no grade.

        Raises:
            StoreError: if the file is damaged.
        """
        of_one = (
            "SELECT data FROM evidence JOIN submission ON submission.number = evidence.submission "
            "WHERE name = ?"
        )
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            row = db.execute(of_one, (well_formed(submission),)).fetchone()
        return Evidence() if row is None else Evidence.unpacked(row[0])

    def write_jsonl(self, path: Path) -> None:
        """Writes `results.jsonl`: one line for each submission; all of it or nothing.

        Raises:
            StoreError: if it cannot be written.
        """
        partial = path.with_name(f".{path.name}.partial")
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as lines:
                for grade in self.grades():
                    lines.write(_line(grade) + "\n")
                lines.flush()
                os.fsync(lines.fileno())
            partial.replace(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def _grades(database: sqlite3.Connection, query: str, value: int | str) -> Iterator[Grade]:
    """The grades of the rows that a query with one value gives."""
    all_tests = database.execute(f"SELECT number, {OF_A_TEST} FROM test")
    tests = {number: test_of(test) for number, *test in all_tests}
    notes_of_one = "SELECT text FROM note WHERE submission = ? ORDER BY place"
    for number, *row in database.execute(query, (value,)):
        verdicts = database.execute(_VERDICTS_OF_ONE, (number,))
        notes = database.execute(notes_of_one, (number,))
        yield grade_of(
            row,
            tuple(verdict_of(tests, row) for row in verdicts),
            tuple(text for (text,) in notes),
        )


def _line(grade: Grade) -> str:
    """The grade as one line of JSON, for readers that split at any kind of line break as well."""
    line = json.dumps(grade.as_json(), ensure_ascii=False, allow_nan=False)
    if line.isascii():
        return line
    return _BREAKS_LINES.sub(lambda char: f"\\u{ord(char[0]):04x}", line)
