"""Which state of the results something was made from: the lines beside them, a report."""

from __future__ import annotations

import json
import secrets
import sqlite3
from pathlib import Path

_SET = "INSERT OR REPLACE INTO batch VALUES (?, ?)"
_GET = "SELECT value FROM batch WHERE key = ?"


def state_of(database: sqlite3.Connection) -> str:
    """A name for what the store holds; nothing where it is not known.

    It is drawn anew with each change, so that no two states of any two stores share one.
    """
    return _value(database, "state")


def draw_state(database: sqlite3.Connection) -> None:
    """Says that what the store holds has changed."""
    database.execute(_SET, ("state", secrets.token_hex(16)))


def are_current(database: sqlite3.Connection, lines: Path) -> bool:
    """Whether a file is the one that `note_lines` was told of, and nothing changed since."""
    stamp = _stamp(state_of(database), lines)
    return bool(stamp) and _value(database, "lines") == stamp


def note_lines(database: sqlite3.Connection, lines: Path, state: str) -> None:
    """Remembers a file as what was written of the store in a state."""
    database.execute(_SET, ("lines", _stamp(state, lines)))


def _value(database: sqlite3.Connection, key: str) -> str:
    row = database.execute(_GET, (key,)).fetchone()
    return "" if row is None else str(row[0])


def _stamp(state: str, lines: Path) -> str:
    """The state, and which file it is: whoever edits or replaces that gives it another."""
    try:
        status = lines.lstat()
    except OSError:
        return ""
    found = [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    return json.dumps([state, *found]) if state else ""
