"""The grades in a folder, for reading."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from grader.store.database import StoreError, connect, saying
from grader.store.rows import (
    OF_A_SUBMISSION,
    OF_A_TEST,
    OF_A_VERDICT,
    grade_of,
    test_of,
    verdict_of,
)
from grader.verdict import Grade

_BREAKS_LINES = re.compile("[\x80-\x9f\u2028\u2029]")


class Results:
    """The grades in a folder, for reading; while a batch runs, those that have arrived."""

    def __init__(self, file: Path, assignment: str) -> None:
        self._file = file
        self.assignment = assignment

    def grades(self) -> Iterator[Grade]:
        """The grades in the order of the class, one at a time: as they are when this begins.

        Raises:
            StoreError: if the file is damaged.
        """
        with saying(self._file, "read"), contextlib.closing(connect(self._file, "ro")) as db:
            db.execute("BEGIN")
            all_tests = db.execute(f"SELECT number, {OF_A_TEST} FROM test")
            tests = {number: test_of(test) for number, *test in all_tests}
            ordered = f"SELECT number, {OF_A_SUBMISSION} FROM submission ORDER BY position, name"
            of_one = f"SELECT {OF_A_VERDICT} FROM verdict WHERE submission = ? ORDER BY place"
            for number, *row in db.execute(ordered):
                verdicts = db.execute(of_one, (number,))
                yield grade_of(row, tuple(verdict_of(tests[test], of) for test, *of in verdicts))

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


def _line(grade: Grade) -> str:
    """The grade as one line of JSON, for readers that split at any kind of line break as well."""
    line = json.dumps(grade.as_json(), ensure_ascii=False, allow_nan=False)
    if line.isascii():
        return line
    return _BREAKS_LINES.sub(lambda char: f"\\u{ord(char[0]):04x}", line)
