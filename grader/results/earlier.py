"""The words about an earlier grade, which may stand in the next one.

The names of wrong answers are written here as well.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from grader.core.explanation import PENDING, WrongAnswers
from grader.core.verdict import Diagnosis
from grader.results.rows import (
    OF_WORDS,
)


def clear_for_next(database: sqlite3.Connection, name: str, keeps_words: bool) -> list[Any]:
    """Removes a submission's grade; returns its tests' words, as rows that begin with the test.

    If the words are kept, so are those about the whole submission, in its row and beside it.
    """
    numbered = "SELECT number, unexplained FROM submission WHERE name = ?"
    number, missing = database.execute(numbered, (name,)).fetchone() or (None, PENDING)
    if not keeps_words or missing == PENDING:
        database.execute("DELETE FROM submission WHERE name = ?", (name,))
        return []
    words = database.execute(
        f"SELECT id, {', '.join(f'words.{name}' for name in OF_WORDS)} FROM words "
        "JOIN verdict USING (submission, place) JOIN test ON test.number = verdict.test "
        "WHERE submission = ?",
        (number,),
    ).fetchall()
    for table in ("words", "verdict", "note", "carried", "lacking"):
        database.execute(f"DELETE FROM {table} WHERE submission = ?", (number,))
    return words


_ADD_WRONG = "INSERT OR REPLACE INTO wrong_answers (submission, place, data) VALUES (?, ?, ?)"
_FAILED = (
    "WHERE submission = (SELECT number FROM submission WHERE name = ?) "
    "AND (submission, place) IN (SELECT submission, place FROM verdict JOIN test "
    "ON test.number = verdict.test WHERE exercise = ? AND status = 'failed')"
)
_NAME = (
    f"UPDATE words SET mistake = ?, explanation = ?, hint = ?, named = 1 {_FAILED} "
    "AND mistake IS NULL"
)
_UNNAME = "UPDATE words SET mistake = NULL, explanation = NULL, hint = NULL, named = 0 WHERE named"

NamedAnswers = tuple[str, str, Diagnosis]


def write_wrong_answers(
    database: sqlite3.Connection, submission: int, wrong: Iterable[WrongAnswers]
) -> None:
    """Writes the unexplained answers of a numbered submission in place of its earlier ones."""
    database.execute("DELETE FROM wrong_answers WHERE submission = ?", (submission,))
    rows = [(submission, place, json.dumps(one.as_json())) for place, one in enumerate(wrong)]
    database.executemany(_ADD_WRONG, rows)


def write_names(database: sqlite3.Connection, named: Sequence[NamedAnswers]) -> None:
    """Writes an instructor's explanations of failed tests that nothing else explains.

    Names that were given earlier, and are not given now, are taken back.
    """
    database.execute(_UNNAME)
    for submission, exercise, diagnosis in named:
        said = (diagnosis.mistake, diagnosis.explanation, diagnosis.hint)
        database.execute(_NAME, (*said, submission, exercise))
