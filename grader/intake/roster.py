"""A roster: the people of a course, from whatever table the instructor has."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.refusal import Refusal
from grader.core.submission import Author
from grader.intake.copying.limits import MIB
from grader.intake.copying.regular_file import read_bounded
from grader.intake.naming import printable, several

_LARGEST = 16 * MIB
_DELIMITERS = ",;\t|"
_HEADER_WITHIN = 10  # rows; some tables have a title above
_NAMES = ("name", "fullname", "student", "studentname", "displayname", "sortablename")
_FIRST_NAMES = ("firstname", "givenname", "givennames", "forename", "first", "vorname")
_LAST_NAMES = ("lastname", "surname", "familyname", "last", "nachname")
_EMAILS = ("email", "emailaddress", "emailadresse", "mail", "studentemail", "schoolemail")
# The first of these that a table has is what its people are known by.
_IDS = (
    *("id", "userid", "canvasid", "canvasuserid", "identifier", "sid", "studentid", "studentno"),
    *("studentnumber", "sisuserid", "sisid", "idnumber", "matriculationnumber", "matrikelnummer"),
    *("netid", "sisloginid", "loginid", "login", "username", "user", "account"),
    *("githubusername", "githublogin", "githubuser", "githubaccount", "githubhandle", "github"),
)
_KNOWN = {*_NAMES, *_FIRST_NAMES, *_LAST_NAMES, *_EMAILS, *_IDS}
_STAFF = re.compile(r"instructor|teacher|assistant|\bta\b|reader|observer|designer|staff|grader")
_NUMBERED = re.compile(r"\D+\s(\d{1,18})")  # Moodle's `Participant 1234`, in any language


class BadRoster(Refusal, ValueError):
    """The roster cannot be used; the text is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone on the roster; `ids` are pairs of column and id, the preferred ones first."""

    name: str
    email: str
    ids: tuple[tuple[str, str], ...]

    def as_author(self, column: str | None = None) -> Author:
        """The person with the id from a column, or else with the first one."""
        first = next((value for _, value in self.ids), "")
        return Author(self.name, dict(self.ids).get(column or "", first), self.email)


def read_roster(path: Path) -> tuple[Person, ...]:
    """The people in a CSV file, each once; what a platform adds to its own exports is left out.

    Headers may be written in many ways; commas, semicolons or tabs separate; UTF-8, UTF-16 and
    Windows' own encoding are read.

    Raises:
        BadRoster: if it cannot be read, names no column that is known, or holds nobody.
    """
    rows = _rows(path)
    first = enumerate(rows[:_HEADER_WITHIN])
    header = next((number for number, row in first if _known_columns(row)), None)
    if header is None:
        there = several([cell for cell in rows[0] if cell])
        raise BadRoster(
            f"{_shown(path)} has no column for names, e-mail addresses or ids, only {there}: call "
            "one of its columns name, email or id"
        )
    columns = {name: place for place, name in reversed([*enumerate(map(_column, rows[header]))])}
    people = [_person(row, columns) for row in rows[header + 1 :]]
    unique = tuple(dict.fromkeys(person for person in people if person is not None))
    if not unique:
        raise BadRoster(f"{_shown(path)} has a header and nobody below it")
    return unique


def _column(header: str) -> str:
    """A header as it is compared: without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", header.casefold())


def _rows(path: Path) -> list[list[str]]:
    """The rows that are not empty."""
    text = _text(path)
    try:
        tables = (_table(text, delimiter) for delimiter in _DELIMITERS)
        rows = max(
            tables, key=lambda rows: max(map(_known_columns, rows[:_HEADER_WITHIN]), default=0)
        )
    except csv.Error as error:
        raise BadRoster(f"{_shown(path)} is no CSV: {error}") from error
    if not rows:
        raise BadRoster(f"{_shown(path)} is empty: a roster has a row for each person")
    return rows


def _table(text: str, delimiter: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    cells = ([printable(cell.strip()) for cell in row] for row in rows)
    return [row for row in cells if any(row)]


def _known_columns(row: Sequence[str]) -> int:
    return len({*map(_column, row)} & _KNOWN)


def _text(path: Path) -> str:
    try:
        content = read_bounded(path.resolve(), _LARGEST + 1)
    except OSError as error:
        raise BadRoster(f"{_shown(path)} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise BadRoster(f"{_shown(path)} is larger than {_LARGEST // MIB} MB, and no roster")
    if content.startswith(b"PK"):
        raise BadRoster(f"{_shown(path)} is a spreadsheet or a zip: save the roster as CSV")
    encodings = ["utf-16"] if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise BadRoster(f"{_shown(path)} is no text: save the roster as CSV in UTF-8")


def _person(row: Sequence[str], columns: Mapping[str, int]) -> Person | None:
    """The person in a row; None of rows that Canvas adds, of staff, and of empty ones."""

    def cell(names: Sequence[str]) -> str:
        places = (columns[name] for name in names if name in columns)
        return next((row[place] for place in places if place < len(row) and row[place]), "")

    if "points possible" in row[0].casefold() or _STAFF.search(cell(("role", "roles")).casefold()):
        return None
    ids = tuple((name, _id(value)) for name in _IDS if (value := cell((name,))))
    name = " ".join(filter(None, (cell(_FIRST_NAMES), cell(_LAST_NAMES)))) or cell(_NAMES)
    email = cell(_EMAILS) or next((value for _, value in ids if "@" in value), "")
    if name in ("Student, Test", "Test Student") or not (name or email or ids):
        return None
    return Person(name, email, ids)


def _id(value: str) -> str:
    numbered = _NUMBERED.fullmatch(value)
    return numbered[1] if numbered else value


def _shown(path: Path) -> str:
    return printable(str(path))
