"""What the store keeps of what a class imports."""

from __future__ import annotations

import sqlite3

from grader.core.imports import ClassImports, Imports
from grader.results.rows import well_formed

_ADD_IMPORT = "INSERT INTO import (submission, name, seconds) VALUES (?, ?, ?)"
_ADD_LACKING = "INSERT OR IGNORE INTO lacking (submission, name) VALUES (?, ?)"


def write_imports(database: sqlite3.Connection, submission: int, imports: Imports) -> None:
    """Writes what a submission imports."""
    of_imports = [(submission, name, seconds) for name, seconds in imports.seconds.items()]
    database.executemany(_ADD_IMPORT, of_imports)
    lacking = [(submission, well_formed(name)) for name in imports.lacking]
    database.executemany(_ADD_LACKING, lacking)


def read_lacking(database: sqlite3.Connection) -> dict[str, set[str]]:
    """The packages that were not there for each submission, by its name."""
    lacking: dict[str, set[str]] = {}
    joined = (
        "SELECT submission.name, lacking.name FROM lacking JOIN submission ON number = submission"
    )
    for submission, package in database.execute(joined):
        lacking.setdefault(submission, set()).add(package)
    return lacking


def read_class_imports(database: sqlite3.Connection) -> ClassImports:
    """What the class imports and lacks, the most of it first."""
    imported = database.execute(
        "SELECT name, COUNT(*), SUM(seconds) FROM import GROUP BY name ORDER BY 3 DESC, name"
    )
    lacking = database.execute(
        "SELECT name, COUNT(*) FROM lacking GROUP BY name ORDER BY 2 DESC, name"
    )
    return ClassImports({name: (many, seconds) for name, many, seconds in imported}, dict(lacking))
