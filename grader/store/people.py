"""Who handed what in, as rows of the tables, and back."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.store.rows import well_formed
from grader.submission import Author

_OF_AN_AUTHOR = "name, id, email"
_TIMES = (
    "CREATE TABLE IF NOT EXISTS handed_in (submission TEXT PRIMARY KEY, at TEXT NOT NULL) "
    "WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class People:
    """Authors by the name of the submission, the names of late ones, and who handed in nothing.

    `times` are when submissions were handed in, by their names, as far as a platform told.
    """

    authors: Mapping[str, tuple[Author, ...]] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    absentees: tuple[Author, ...] = ()
    times: Mapping[str, datetime.datetime] = field(default_factory=dict)


def read_people(database: sqlite3.Connection) -> People:
    """The people of a store."""
    authors: dict[str, tuple[Author, ...]] = {}
    ordered = f"SELECT submission, {_OF_AN_AUTHOR} FROM author ORDER BY submission, place"
    for submission, *author in database.execute(ordered):
        authors[submission] = (*authors.get(submission, ()), Author(*author))
    late = frozenset(name for (name,) in database.execute("SELECT submission FROM late"))
    absentees = database.execute(f"SELECT {_OF_AN_AUTHOR} FROM absentee ORDER BY place")
    return People(authors, late, tuple(Author(*row) for row in absentees), _read_times(database))


def write_people(database: sqlite3.Connection, people: People) -> None:
    """Writes the people in place of those that the store held."""
    for table in ("author", "late", "absentee"):
        database.execute(f"DELETE FROM {table}")
    database.executemany(
        f"INSERT INTO author (submission, place, {_OF_AN_AUTHOR}) VALUES (?, ?, ?, ?, ?)",
        [
            (well_formed(submission), place, *_row(author))
            for submission, authors in people.authors.items()
            for place, author in enumerate(authors)
        ],
    )
    late = [(well_formed(name),) for name in people.late]
    database.executemany("INSERT INTO late (submission) VALUES (?)", late)
    database.executemany(
        f"INSERT INTO absentee (place, {_OF_AN_AUTHOR}) VALUES (?, ?, ?, ?)",
        [(place, *_row(author)) for place, author in enumerate(people.absentees)],
    )

    database.execute(_TIMES)
    database.execute("DELETE FROM handed_in")
    times = [(well_formed(name), at.isoformat()) for name, at in people.times.items()]
    database.executemany("INSERT INTO handed_in (submission, at) VALUES (?, ?)", times)


def _read_times(database: sqlite3.Connection) -> dict[str, datetime.datetime]:
    """When submissions were handed in; stores of before have no table for it."""
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'handed_in'").fetchone()
    rows = database.execute("SELECT submission, at FROM handed_in") if known else ()
    return {name: datetime.datetime.fromisoformat(at) for name, at in rows}


def _row(author: Author) -> tuple[str, str, str]:
    return well_formed(author.name), well_formed(author.id), well_formed(author.email)
