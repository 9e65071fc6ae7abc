"""Who handed what in, as rows of the tables, and back."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.core.submission import Author
from grader.results.rows import well_formed

_OF_AN_AUTHOR = "name, id, email"
# Tables that stores of before lack.
_LATER = (
    "CREATE TABLE IF NOT EXISTS handed_in (submission TEXT PRIMARY KEY, at TEXT NOT NULL) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS unsure (submission TEXT PRIMARY KEY, why TEXT NOT NULL) "
    "WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class People:
    """Authors by the name of the submission, the names of late ones, and who handed in nothing.

    `times` are when submissions were handed in, by their names, as far as a platform told;
    `unsure` says of some why it is not certain whose they are.
    """

    authors: Mapping[str, tuple[Author, ...]] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    absentees: tuple[Author, ...] = ()
    times: Mapping[str, datetime.datetime] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)


def read_people(database: sqlite3.Connection) -> People:
    """The people of a store."""
    authors: dict[str, tuple[Author, ...]] = {}
    ordered = f"SELECT submission, {_OF_AN_AUTHOR} FROM author ORDER BY submission, place"
    for submission, *author in database.execute(ordered):
        authors[submission] = (*authors.get(submission, ()), Author(*author))
    late = frozenset(name for (name,) in database.execute("SELECT submission FROM late"))
    absentees = database.execute(f"SELECT {_OF_AN_AUTHOR} FROM absentee ORDER BY place")
    return People(
        authors,
        late,
        tuple(Author(*row) for row in absentees),
        _read_times(database),
        dict(_rows_of(database, "unsure")),
    )


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

    for statement in _LATER:
        database.execute(statement)
    unsure = [(well_formed(name), well_formed(why)) for name, why in people.unsure.items()]
    database.execute("DELETE FROM unsure")
    database.executemany("INSERT INTO unsure (submission, why) VALUES (?, ?)", unsure)
    database.execute("DELETE FROM handed_in")
    times = [(well_formed(name), at.isoformat()) for name, at in people.times.items()]
    database.executemany("INSERT INTO handed_in (submission, at) VALUES (?, ?)", times)


def _read_times(database: sqlite3.Connection) -> dict[str, datetime.datetime]:
    """When submissions were handed in."""
    rows = _rows_of(database, "handed_in")
    return {name: datetime.datetime.fromisoformat(at) for name, at in rows}


def _rows_of(database: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    known = "SELECT 1 FROM sqlite_master WHERE name = ?"
    is_there = database.execute(known, (table,)).fetchone()
    return database.execute(f"SELECT * FROM {table}").fetchall() if is_there else []


def _row(author: Author) -> tuple[str, str, str]:
    return well_formed(author.name), well_formed(author.id), well_formed(author.email)
