"""The SQLite file: its tables, its lock, its state, and the check that it is a store."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from grader.core.text import Refusal


def value_of(database: sqlite3.Connection, key: str) -> str:
    """Returns the value of a key of the batch; "" if there is none."""
    row = database.execute("SELECT value FROM batch WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def set_value(database: sqlite3.Connection, key: str, value: str) -> None:
    """Stores the value of a key of the batch."""
    database.execute("INSERT OR REPLACE INTO batch VALUES (?, ?)", (key, value))


def stamp_of(lines: Path) -> str:
    """Returns a file's identity, which changes with an edit; "" if there is no file."""
    try:
        status = lines.lstat()
    except OSError:
        return ""
    found = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return " ".join(map(str, found))


SCHEMA_VERSION = 8
FILE = "results.sqlite"
LINES = "results.jsonl"

# Submissions of a class share a `suite`, the JSON of their tests. A `grade` is the judge's part;
# `words` are the explainer's, and `named` are the mistakes that an instructor named.
_TABLES = """
CREATE TABLE batch (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE suite (number INTEGER PRIMARY KEY, tests TEXT NOT NULL UNIQUE);
CREATE TABLE submission (
    name TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    finished INTEGER NOT NULL,
    hash TEXT NOT NULL,
    absent TEXT NOT NULL,
    suite INTEGER NOT NULL,
    grade TEXT NOT NULL,
    unexplained TEXT,
    words TEXT,
    named TEXT,
    evidence BLOB
);
CREATE INDEX submission_in_class_order ON submission (position, name);
"""


class StoreError(Refusal):
    """Results that cannot be read or written; the text is one sentence that says why."""


class ForeignStore(StoreError):
    """Results of another assignment, or of another version of the grader."""


def connect(file: Path, is_new: bool = False) -> sqlite3.Connection:
    """Opens a file, or a new one, that any one thread at a time may use.

    A file that may only be read is opened for reading. Otherwise the first reader after a killed
    writer undoes half a change.
    """
    uri = f"{file.absolute().as_uri()}?mode={'rwc' if is_new else 'rw'}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def saying(file: Path, done: str) -> Iterator[None]:
    """Turns an SQLite error inside into a `StoreError`: the file cannot be `done`."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{file} cannot be {done}: {error}") from error


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commits all changes made inside, or rolls all back if something raises."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def is_empty(database: sqlite3.Connection, file: Path) -> bool:
    """Returns whether a file has no tables yet.

    Raises:
        ForeignStore: if the file is not an SQLite file.
    """
    try:
        return database.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        raise ForeignStore(_foreign(file, "is not a store of results")) from error


def create(database: sqlite3.Connection, assignment: str) -> None:
    """Makes the tables in an empty file."""
    with transaction(database):
        for statement in _TABLES.split(";"):
            database.execute(statement)
        meta = {"schema": str(SCHEMA_VERSION), "assignment": assignment}
        database.executemany("INSERT INTO batch VALUES (?, ?)", meta.items())


def check(database: sqlite3.Connection, file: Path, assignment: str | None = None) -> str:
    """Returns the name of the results' assignment, which must be `assignment` if given.

    Raises:
        ForeignStore: if the file has another assignment or schema, or is not a store.
    """
    try:
        meta = dict(database.execute("SELECT key, value FROM batch"))
    except sqlite3.OperationalError as error:
        raise ForeignStore(_foreign(file, "is not a store of results")) from error
    schema, found = meta.get("schema"), str(meta.get("assignment"))
    if schema != str(SCHEMA_VERSION):
        raise ForeignStore(
            f"{file} has schema {schema}, where this version of the grader has {SCHEMA_VERSION}: "
            "read it with the version that wrote it, or grade into another folder"
        )
    if assignment is not None and found != assignment:
        what = f"belongs to the assignment {found!r}, not to {assignment!r}"
        raise ForeignStore(_foreign(file, what))
    return found


def refuse_foreign_lines(folder: Path) -> None:
    """Refuses a folder whose `results.jsonl` is not a batch's: a batch would replace it.

    Raises:
        ForeignStore: if the path exists, but is not a file, or has no store beside it.
    """
    lines, store = folder / LINES, folder / FILE
    if os.path.lexists(lines) and not (lines.is_file() and store.is_file()):
        why = "" if store.is_file() else f" ({FILE} is missing)"
        raise ForeignStore(_foreign(lines, f"was not written by a batch{why}"))


def _foreign(file: Path, what: str) -> str:
    return f"{file} {what}: name another folder with --out, or move that file away"


_LOCK = "results.lock"


class StoreInUse(StoreError):
    """A folder that another batch is writing to."""


def lock_folder(folder: Path) -> int:
    """Makes the folder if needed; the descriptor returned holds its lock until it is closed.

    The system closes the descriptor however the process ends, so that no lock is left behind.

    Raises:
        StoreInUse: if another process holds the lock.
        StoreError: if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
    except BlockingIOError as error:
        raise StoreInUse(
            f"another batch is writing to {folder}: wait until it ends, or grade into another one"
        ) from error
    except OSError as error:
        raise StoreError(
            f"results cannot be written to {folder}, or locked there ({error.strerror}): "
            "name a folder of yours on a local disk with grader batch --out"
        ) from error
    return lock
