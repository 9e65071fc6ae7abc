"""The results of a batch that is running."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

from grader.core.explanation import PENDING, Words
from grader.core.files import refusing
from grader.core.verdict import Diagnosis, Grade
from grader.results.database import (
    FILE,
    StoreError,
    check,
    connect,
    create,
    is_empty,
    lock_folder,
    refuse_foreign_lines,
    saying,
    set_value,
    stamp_of,
    transaction,
    value_of,
)
from grader.results.results import (
    People,
    Results,
    stored,
    stored_grade,
    stored_tests,
    stored_words,
    well_formed,
)

# An instructor's name of the answers of a submission in an exercise.
NamedAnswers = tuple[str, str, Diagnosis]
_WORDS_OF = "SELECT unexplained, words, named, evidence FROM submission WHERE name = ?"


class Store(Results):
    """The results of a batch that is running: the only writer to its folder; a context manager.

    Every method may be called from any thread. Each change is one transaction: after a `kill -9`,
    the store has all of it or nothing.
    """

    def __init__(
        self, file: Path, assignment: str, database: sqlite3.Connection, lock: int
    ) -> None:
        super().__init__(file, assignment, _people(database))
        self._database = database
        self._folder_lock = lock
        self._one_at_a_time = threading.Lock()

    @classmethod
    def open(cls, folder: Path, assignment: str) -> Store:
        """Returns the store in a folder, which is created if it does not exist.

        Locks the folder against other batches.

        Raises:
            ForeignStore: if the folder holds another assignment's results, or a file that has the
                name of a store but is not one.
            StoreInUse: if another batch is writing to the folder.
            StoreError: if the folder cannot be written.
        """
        file = folder / FILE
        refuse_foreign_lines(folder)
        lock = lock_folder(folder)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, lock)
            with saying(file, "opened"):
                database = undo.enter_context(contextlib.closing(connect(file, is_new=True)))
                if is_empty(database, file):
                    create(database, assignment)
                check(database, file, assignment)
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
                store = cls(file, assignment, database, lock)
            undo.pop_all()
        return store

    @staticmethod
    def read(folder: Path) -> Results:
        """Returns the results in a folder, for reports; a batch may be writing to it.

        Raises:
            ForeignStore: if the results are not of this version of the grader.
            StoreError: if there are no results.
        """
        file = folder / FILE
        with refusing(StoreError, f"{folder} cannot be read"):
            is_there, is_folder = file.exists(), folder.is_dir()
        if not is_there:
            held = f"holds no {FILE}" if is_folder else "does not exist"
            raise StoreError(f"{folder} {held}: name the folder that `grader batch --out` wrote")
        with saying(file, "read"), contextlib.closing(connect(file)) as database:
            if is_empty(database, file):
                raise StoreError(f"{file} is empty: its batch was stopped before it began")
            assignment = check(database, file)
            return Results(file, assignment, _people(database))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        # Without the WAL's companion files, the store can be copied, and read in a read-only
        # folder.
        with contextlib.suppress(sqlite3.OperationalError):
            self._database.execute("PRAGMA busy_timeout = 0")
            self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()
        os.close(self._folder_lock)

    def remember(self, **values: object) -> None:
        """Stores values of the batch as JSON, except those that are there already.

        They are its `options`, the `paths` of the submissions, their `downloads`, and the `late`
        rule.
        """
        for key, value in values.items():
            text = json.dumps(value)
            if self._of_the_batch(key) != json.loads(text):
                with self._change() as database:
                    set_value(database, key, text)

    def finished(self) -> dict[str, str]:
        """Returns the cache key of each submission that needs no grading, by its name."""
        return dict(self._rows("SELECT name, key FROM submission WHERE finished"))

    def add(self, grade: Grade, key: str, position: int, keeps_words: bool = False) -> None:
        """Writes a grade in place of the submission's earlier one, if there was one.

        `key` is a hash of all that the grade depends on; `position` is the submission's place in
        the class. If it `keeps_words`, those about the earlier grade stand.
        """
        name, tests = well_formed(grade.submission), stored_tests(grade)
        lacking = stored(sorted(set(grade.imports.lacking)))
        with self._change() as database:
            words = database.execute(_WORDS_OF, (name,)).fetchone() if keeps_words else None
            if words is None or words[0] == PENDING:
                words = (grade.unexplained, None, None, None)
            database.execute("INSERT OR IGNORE INTO suite (tests) VALUES (?)", (tests,))
            numbered = "SELECT number FROM suite WHERE tests = ?"
            (suite,) = database.execute(numbered, (tests,)).fetchone()
            of_one = (position, key, grade.is_complete, grade.submission_hash, lacking, suite)
            row = (name, *of_one, stored_grade(grade), *words)
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT OR REPLACE INTO submission VALUES ({marks})", row)

    def add_words(self, submission: str, words: Words) -> None:
        """Writes the words for a submission's grade in place of its earlier words.

        Words for a submission without a grade, or for tests that its grade does not have, are
        dropped. No outcome and no score changes.
        """
        said = "UPDATE submission SET unexplained = ?, words = ?, named = NULL, evidence = ?"
        row = (words.missing and well_formed(words.missing), stored_words(words))
        with self._change() as database:
            packed = words.evidence.packed()
            database.execute(f"{said} WHERE name = ?", (*row, packed, well_formed(submission)))

    def set_unexplained(self, submission: str, why: str) -> None:
        """Writes why a submission's words are incomplete; those that it has stay."""
        with self._change() as database:
            said = "UPDATE submission SET unexplained = ? WHERE name = ?"
            database.execute(said, (why, well_formed(submission)))

    def set_names(self, named: Sequence[NamedAnswers]) -> None:
        """Writes an instructor's names of answers that nothing else explains.

        Each name is given by submission and exercise. Earlier names are dropped.
        """
        names: dict[str, dict[str, Diagnosis]] = {}
        for submission, exercise, diagnosis in named:
            names.setdefault(well_formed(submission), {}).setdefault(exercise, diagnosis)
        with self._change() as database:
            for name, before in database.execute("SELECT name, named FROM submission").fetchall():
                own = {exercise: astuple(said) for exercise, said in names.get(name, {}).items()}
                now = stored(own) if own else None
                if now != before:
                    said = "UPDATE submission SET named = ? WHERE name = ?"
                    database.execute(said, (now, name))

    def set_people(self, people: People) -> None:
        """Writes the people of the class in place of the earlier ones."""
        if people != self.people:
            with self._change() as database:
                set_value(database, "people", stored(people.as_json()))
                self.people = _people(database)

    def keep_only(self, names: Sequence[str]) -> None:
        """Deletes submissions that are not among `names`, and puts the others in that order."""
        positions = {well_formed(name): position for position, name in enumerate(names)}
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
        """Deletes all grades, the options, and the names that an instructor gave."""
        with self._change() as database:
            database.execute("DELETE FROM submission")
            database.execute("DELETE FROM suite")
            database.execute("DELETE FROM batch WHERE key = 'options'")

    def update_jsonl(self, path: Path) -> None:
        """Writes `results.jsonl`, unless the file already holds these grades unchanged.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._one_at_a_time, saying(self.file, "read"):
            before = self._database.total_changes
            if (stamp := stamp_of(path)) and stamp == value_of(self._database, "lines"):
                return
        self.write_jsonl(path)
        with self._one_at_a_time, saying(self.file, "written"), transaction(self._database):
            if self._database.total_changes == before:
                set_value(self._database, "lines", stamp_of(path))

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._one_at_a_time, saying(self.file, "written"), transaction(self._database):
            before = self._database.total_changes
            yield self._database
            if self._database.total_changes > before:
                set_value(self._database, "lines", "")


def _people(database: sqlite3.Connection) -> People:
    return People.from_json(json.loads(value_of(database, "people") or "{}"))
