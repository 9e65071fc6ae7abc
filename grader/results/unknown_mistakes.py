"""Wrong answers that no known mistake explains, and the imports of a class."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from grader.core.explanation import WrongAnswers
from grader.core.submission import ClassImports, Imports
from grader.core.verdict import Diagnosis
from grader.results.rows import well_formed

ADD_WRONG = "INSERT OR REPLACE INTO wrong_answers (submission, place, data) VALUES (?, ?, ?)"
OF_ONE = "SELECT place, data FROM wrong_answers WHERE submission = ?"
_OF_THE_CLASS = (
    "SELECT name, data FROM wrong_answers JOIN submission ON number = submission "
    "ORDER BY position, name, place"
)
_FAILED = (
    "WHERE submission = (SELECT number FROM submission WHERE name = ?) "
    "AND (submission, place) IN (SELECT submission, place FROM verdict JOIN test "
    "ON test.number = verdict.test WHERE exercise = ? AND status = 'failed')"
)
_NAME = f"UPDATE words SET mistake = ?, explanation = ?, hint = ? {_FAILED} AND mistake IS NULL"
_UNNAME = (
    f"UPDATE words SET mistake = NULL, explanation = NULL, hint = NULL {_FAILED} AND mistake = ?"
)
_GIVEN = "SELECT value FROM batch WHERE key = 'named'"

Named = tuple[str, str, Diagnosis]


def write_wrong(
    database: sqlite3.Connection, submission: int, wrong: Iterable[WrongAnswers]
) -> None:
    """Writes the answers of the submission with a number, in place of what was known before."""
    database.execute("DELETE FROM wrong_answers WHERE submission = ?", (submission,))
    rows = [(submission, place, json.dumps(one.as_json())) for place, one in enumerate(wrong)]
    database.executemany(ADD_WRONG, rows)


def read_wrong(database: sqlite3.Connection) -> dict[str, list[WrongAnswers]]:
    """Returns each submission's answers that no known mistake explains, in class order."""
    found: dict[str, list[WrongAnswers]] = {}
    for name, data in database.execute(_OF_THE_CLASS):
        found.setdefault(name, []).append(WrongAnswers.from_json(json.loads(data)))
    return found


def write_names(database: sqlite3.Connection, named: Sequence[Named]) -> None:
    """Says what explains the failed tests of submissions' exercises, where nothing else does.

    Names that were given so before, and are not given now, are taken back.
    """
    given = read_given(database)
    told = [[submission, exercise, said.mistake] for submission, exercise, said in named]
    database.executemany(_UNNAME, given)
    for submission, exercise, diagnosis in named:
        said = (diagnosis.mistake, diagnosis.explanation, diagnosis.hint)
        database.execute(_NAME, (*said, submission, exercise))
    if told != given:
        value = json.dumps(told)
        database.execute("INSERT OR REPLACE INTO batch VALUES ('named', ?)", (value,))


def read_given(database: sqlite3.Connection) -> list[list[str]]:
    """Returns which submissions were told which names, by exercise, when that was written last."""
    row = database.execute(_GIVEN).fetchone()
    return [] if row is None else list(json.loads(row[0]))


_ADD_IMPORT = "INSERT INTO import (submission, name, seconds) VALUES (?, ?, ?)"
_ADD_LACKING = "INSERT OR IGNORE INTO lacking (submission, name) VALUES (?, ?)"


def write_imports(database: sqlite3.Connection, submission: int, imports: Imports) -> None:
    """Writes what a submission imports."""
    of_imports = [(submission, name, seconds) for name, seconds in imports.seconds.items()]
    database.executemany(_ADD_IMPORT, of_imports)
    lacking = [(submission, well_formed(name)) for name in imports.lacking]
    database.executemany(_ADD_LACKING, lacking)


def read_lacking(database: sqlite3.Connection) -> dict[str, set[str]]:
    """Returns the packages that were not there for each submission, by its name."""
    lacking: dict[str, set[str]] = {}
    joined = (
        "SELECT submission.name, lacking.name FROM lacking JOIN submission ON number = submission"
    )
    for submission, package in database.execute(joined):
        lacking.setdefault(submission, set()).add(package)
    return lacking


def read_class_imports(database: sqlite3.Connection) -> ClassImports:
    """Returns the imports by their total seconds and the lacking packages by count, most first."""
    imported = database.execute(
        "SELECT name, COUNT(*), SUM(seconds) FROM import GROUP BY name ORDER BY 3 DESC, name"
    )
    lacking = database.execute(
        "SELECT name, COUNT(*) FROM lacking GROUP BY name ORDER BY 2 DESC, name"
    )
    return ClassImports({name: (many, seconds) for name, many, seconds in imported}, dict(lacking))
