"""The results of a batch that is running."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

from grader.core.evidence import Evidence
from grader.core.explanation import Words
from grader.core.verdict import Grade
from grader.results.database import (
    FILE,
    StoreError,
    check,
    connect,
    create,
    lock_folder,
    refuse_foreign_lines,
    saying,
    set_value,
    stamp_of,
    tables,
    transaction,
    value_of,
)
from grader.results.earlier import (
    NamedAnswers,
    clear_for_next,
    write_names,
    write_wrong_answers,
)
from grader.results.results import Results
from grader.results.rows import (
    ADD_CARRIED,
    ADD_EVIDENCE,
    ADD_NOTE,
    ADD_SUBMISSION,
    ADD_TEST,
    ADD_VERDICT,
    ADD_WORDS,
    OF_A_TEST,
    People,
    TestRow,
    read_people,
    row_of_test,
    submission_row,
    verdict_row,
    well_formed,
    words_row,
    write_people,
)

_OF_GRADES = (
    "lacking", "carried", "wrong_answers", "evidence", "note", "words",
    "verdict", "submission", "test",
)  # fmt: skip
_NUMBERED = "SELECT number FROM submission WHERE name = ?"
_LACKING = (
    "SELECT submission.name, lacking.name FROM lacking JOIN submission ON number = submission"
)


class Store(Results):
    """The results of a batch that is running: the only writer to its folder; a context manager.

    Every method may be called from any thread. Each change is one transaction: after a `kill -9`,
    the store has all of it or nothing.
    """

    def __init__(
        self, file: Path, assignment: str, database: sqlite3.Connection, lock: int
    ) -> None:
        super().__init__(file, assignment, read_people(database), value_of(database, "state"))
        self._database = database
        self._folder_lock = lock
        self._one_at_a_time = threading.Lock()
        rows = database.execute(f"SELECT {OF_A_TEST}, number FROM test")
        self._tests: dict[TestRow, int] = {row[:5]: row[5] for row in rows}

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
        """Returns the results in a folder, for reports; a batch may be writing to it.

        Raises:
            ForeignStore: if the results are not of this version of the grader.
            StoreError: if there are no results.
        """
        file = folder / FILE
        try:
            is_there, is_folder = file.exists(), folder.is_dir()
        except OSError as error:
            raise StoreError(f"{folder} cannot be read: {error.strerror}") from error
        if not is_there:
            held = f"holds no {FILE}" if is_folder else "does not exist"
            raise StoreError(f"{folder} {held}: name the folder that `grader batch --out` wrote")
        with saying(file, "read"), contextlib.closing(connect(file, "ro")) as database:
            if not tables(database, file):
                raise StoreError(f"{file} is empty: its batch was stopped before it began")
            assignment = check(database, file)
            return Results(file, assignment, read_people(database), value_of(database, "state"))

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
        with self._one_at_a_time, saying(self.file, "read"):
            return dict(self._database.execute("SELECT name, key FROM submission WHERE finished"))

    def lacking(self) -> dict[str, set[str]]:
        """Returns the packages that were not installed for a submission, by its name."""
        with self._one_at_a_time, saying(self.file, "read"):
            found: dict[str, set[str]] = {}
            for name, package in self._database.execute(_LACKING):
                found.setdefault(name, set()).add(package)
            return found

    def add(self, grade: Grade, key: str, position: int, keeps_words: bool = False) -> None:
        """Writes a grade in place of the submission's earlier one, if there was one.

        `key` is a hash of all that the grade depends on; `position` is the submission's place in
        the class. If it `keeps_words`, those about the earlier grade stand.
        """
        name = well_formed(grade.submission)
        with self._change() as database:
            words = clear_for_next(database, name, keeps_words)
            tail = (position, key, grade.is_complete, grade.unexplained)
            database.execute(ADD_SUBMISSION, submission_row(grade) + tail)
            (number,) = database.execute(_NUMBERED, (name,)).fetchone()
            rows = [
                (number, place, self._number_of(row_of_test(verdict)), *verdict_row(verdict))
                for place, verdict in enumerate(grade.tests)
            ]
            database.executemany(ADD_VERDICT, rows)
            notes = [(number, place, well_formed(t)) for place, t in enumerate(grade.notes)]
            database.executemany(ADD_NOTE, notes)
            database.executemany(ADD_CARRIED, [(number, *astuple(one)) for one in grade.carried])
            lacking = [(number, well_formed(it)) for it in grade.imports.lacking]
            database.executemany("INSERT OR IGNORE INTO lacking VALUES (?, ?)", lacking)
            places = {test.id: place for place, test in enumerate(grade.tests)}
            told = [(number, places[test], *said) for test, *said in words if test in places]
            database.executemany(ADD_WORDS, told)

    def add_words(self, submission: str, words: Words) -> None:
        """Writes the words for a submission's grade in place of its earlier words.

        Words for a submission without a grade, or for tests that its grade does not have, are
        dropped. No outcome and no score changes.
        """
        placed = "SELECT id, place FROM verdict JOIN test ON number = test WHERE submission = ?"
        said = "UPDATE submission SET said = ?, unexplained = ? WHERE number = ?"
        with self._change() as database:
            found = database.execute(_NUMBERED, (well_formed(submission),)).fetchone()
            if found is None:
                return
            (number,) = found
            places = dict(database.execute(placed, (number,)))
            database.execute("DELETE FROM words WHERE submission = ?", (number,))
            rows = [
                (number, places[test], *words_row(told))
                for test, told in words.tests.items()
                if test in places
            ]
            database.executemany(ADD_WORDS, rows)
            database.execute("DELETE FROM evidence WHERE submission = ?", (number,))
            if words.evidence != Evidence():
                database.execute(ADD_EVIDENCE, (number, words.evidence.packed()))
            write_wrong_answers(database, number, words.wrong)
            message, missing = well_formed(words.message), well_formed(words.missing)
            database.execute(said, (message, missing, number))

    def set_unexplained(self, submission: str, why: str) -> None:
        """Writes why a submission's words are incomplete; those that it has stay."""
        with self._change() as database:
            said = "UPDATE submission SET unexplained = ? WHERE name = ?"
            database.execute(said, (why, well_formed(submission)))

    def set_names(self, named: Sequence[NamedAnswers]) -> None:
        """Writes an instructor's names of answers that nothing else explains.

        Each name is given by submission and exercise. Earlier names are dropped.
        """
        with self._change() as database:
            write_names(database, named)

    def set_people(self, people: People) -> None:
        """Writes the people of the class in place of the earlier ones."""
        if people != self.people:
            with self._change() as database:
                write_people(database, people)
                self.people = read_people(database)

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
            for table in _OF_GRADES:
                database.execute(f"DELETE FROM {table}")
            database.execute("DELETE FROM batch WHERE key = 'options'")
            self._tests.clear()

    def update_jsonl(self, path: Path) -> None:
        """Writes `results.jsonl`, unless the file already holds these grades unchanged.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._one_at_a_time, saying(self.file, "read"):
            state = value_of(self._database, "state")
            if (stamp := stamp_of(state, path)) and stamp == value_of(self._database, "lines"):
                return
        self.write_jsonl(path)
        with self._one_at_a_time, saying(self.file, "written"), transaction(self._database):
            set_value(self._database, "lines", stamp_of(state, path))

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._one_at_a_time, saying(self.file, "written"):
            tests = dict(self._tests)
            try:
                with transaction(self._database):
                    before = self._database.total_changes
                    yield self._database
                    if self._database.total_changes > before:
                        # No two states share a name, in any store.
                        set_value(self._database, "state", secrets.token_hex(16))
            except BaseException:
                self._tests = tests
                raise

    def _number_of(self, test: TestRow) -> int:
        if test not in self._tests:
            number = self._database.execute(ADD_TEST, test).lastrowid
            assert number is not None
            self._tests[test] = number
        return self._tests[test]
