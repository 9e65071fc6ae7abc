"""The results of a batch that is running."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.verdict import Grade


class Store(Results):
    """The results of a batch that is running: the only writer to its folder; a context manager.

    Every method may be called from any thread. Each change is one transaction: after a `kill -9`
    it is there as a whole or not at all.
    """

    def __init__(
        self, file: Path, assignment: str, database: sqlite3.Connection, lock: int
    ) -> None:
        super().__init__(file, assignment)
        self._database = database
        self._folder_lock = lock
        self._one_at_a_time = threading.Lock()
        rows = database.execute("SELECT number, id, exercise, aspect, max_score, visibility FROM test")
        self._tests: dict[TestRow, int] = {tuple(test): number for number, *test in rows}

    @classmethod
    def open(cls, folder: Path, assignment: str) -> Store:
        """The store in a folder, which is made if there is none; no other batch may write to it.

        Raises:
            ForeignStore: if the folder holds other results than this assignment's.
            StoreInUse: if another batch is running over it.
            StoreError: if it cannot be written.
        """
        lock = lock_folder(folder)
        file = folder / _FILE
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, lock)
            with saying(file, "opened"):
                database = undo.enter_context(contextlib.closing(connect(file, "rwc")))
                if not tables(database, file):
                    create(database, assignment)
                check(database, file, assignment)
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
                database.execute("PRAGMA foreign_keys = ON")
                store = cls(file, assignment, database, lock)
            undo.pop_all()
        return store

    @staticmethod
    def read(folder: Path) -> Results:
        """The results in a folder, for reports; a batch may be writing to it.

        Raises:
            ForeignStore: if they are not results of this version of the grader.
            StoreError: if there are none.
        """
        file = folder / _FILE
        if not file.exists():
            raise StoreError(f"{folder} holds no {_FILE}: give the folder that --out named")
        with saying(file, "opened"), contextlib.closing(connect(file, "ro")) as database:
            if not tables(database, file):
                raise StoreError(f"{file} is empty: its batch was stopped before it began")
            return Results(file, check(database, file))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        # A file that needs no companions can be copied, and read where nothing can be written.
        with contextlib.suppress(sqlite3.OperationalError):
            self._database.execute("PRAGMA busy_timeout = 0")
            self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()
        os.close(self._folder_lock)

    def seed(self) -> int | None:
        """The seed of the batch, if one was set."""
        with self._one_at_a_time, saying(self._file, "read"):
            row = self._database.execute("SELECT value FROM batch WHERE key = 'seed'").fetchone()
        return int(row[0]) if row else None

    def set_seed(self, seed: int) -> None:
        """Remembers the seed for when the batch is taken up again."""
        with self._change() as database:
            database.execute("INSERT OR REPLACE INTO batch VALUES ('seed', ?)", (str(seed),))

    def finished(self) -> dict[str, str]:
        """The cache key of each submission that needs no grading, by its name."""
        with self._one_at_a_time, saying(self._file, "read"):
            return dict(self._database.execute("SELECT name, key FROM submission WHERE finished"))

    def add(self, grade: Grade, key: str, position: int) -> None:
        """Writes a grade in place of the submission's earlier one, if there was one.

        `key` stands for all that the grade depends on; `position` is the submission's place in the
        class.
        """
        name = _text(grade.submission)
        numbers: dict[TestRow, int] = {}
        with self._change() as database:
            database.execute("DELETE FROM submission WHERE name = ?", (name,))
            tail = (position, key, is_finished(grade))
            number = database.execute(ADD_SUBMISSION, submission_row(grade) + tail).lastrowid
            for verdict in grade.tests:
                test = row_of_test(verdict)
                if test not in self._tests and test not in numbers:
                    numbers[test] = _add_test(database, test)
            known = self._tests | numbers if numbers else self._tests
            rows = ((number, place, known[row_of_test(v)], *verdict_row(v)) for place, v in enumerate(grade.tests))
            database.executemany(ADD_VERDICT, rows)
        self._tests |= numbers

    def keep_only(self, names: Sequence[str]) -> None:
        """Forgets submissions that are not among `names`, the class as it is now, in its order."""
        positions = {_text(name): position for position, name in enumerate(names)}
        with self._change() as database:
            known = database.execute("SELECT name, position FROM submission").fetchall()
            gone = [(name,) for name, _ in known if name not in positions]
            moved = [
                (positions[name], name)
                for name, position in known
                if positions.get(name, position) != position
            ]
            database.executemany("DELETE FROM submission WHERE name = ?", gone)
            database.executemany("UPDATE submission SET position = ? WHERE name = ?", moved)

    def clear(self) -> None:
        """Forgets every grade, and the seed."""
        with self._change() as database:
            for table in ("verdict", "submission", "test"):
                database.execute(f"DELETE FROM {table}")
            database.execute("DELETE FROM batch WHERE key = 'seed'")
        self._tests.clear()

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._one_at_a_time, saying(self._file, "written"), transaction(self._database):
            yield self._database


def _add_test(database: sqlite3.Connection, test: TestRow) -> int:
    insert = "INSERT INTO test (id, exercise, aspect, max_score, visibility) VALUES (?, ?, ?, ?, ?)"
    number = database.execute(insert, test).lastrowid
    assert number is not None
    return number
