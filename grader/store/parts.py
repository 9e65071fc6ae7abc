"""What the store keeps of a grade's parts: a key for each exercise, and the class's imports."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from grader.imports import ClassImports, Imports
from grader.store.rows import well_formed

_ADD_KEY = "INSERT INTO exercise_key (submission, exercise, key) VALUES (?, ?, ?)"
_ADD_IMPORT = "INSERT INTO import (submission, name, seconds) VALUES (?, ?, ?)"
_ADD_LACKING = "INSERT OR IGNORE INTO lacking (submission, name) VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class KeptExercise:
    """The cache key of an exercise in a grade, and whether all of its tests passed."""

    key: str
    passed: bool


def write_parts(
    database: sqlite3.Connection, submission: int, keys: Mapping[str, str], imports: Imports
) -> None:
    """Writes the keys of the exercises in the grade of a submission, and what it imports."""
    of_keys = [(submission, exercise, key) for exercise, key in keys.items()]
    database.executemany(_ADD_KEY, of_keys)
    of_imports = [(submission, name, seconds) for name, seconds in imports.seconds.items()]
    database.executemany(_ADD_IMPORT, of_imports)
    lacking = [(submission, well_formed(name)) for name in imports.lacking]
    database.executemany(_ADD_LACKING, lacking)


def read_parts(database: sqlite3.Connection, name: str) -> dict[str, KeptExercise]:
    """The exercises in the grade of a submission, if each of them can be kept without the others.

    None can if the grade is not complete, or if its message speaks of all exercises together.
    """
    found = database.execute(
        "SELECT number FROM submission "
        "WHERE name = ? AND finished AND status = 'graded' AND message IS NULL",
        (well_formed(name),),
    ).fetchone()
    if found is None:
        return {}
    (number,) = found
    failed = database.execute(
        "SELECT DISTINCT exercise FROM verdict JOIN test ON test.number = verdict.test "
        "WHERE submission = ? AND status != 'passed'",
        (number,),
    )
    wrong = {exercise for (exercise,) in failed}
    keys = database.execute(
        "SELECT exercise, key FROM exercise_key WHERE submission = ?", (number,)
    )
    return {exercise: KeptExercise(key, exercise not in wrong) for exercise, key in keys}


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
