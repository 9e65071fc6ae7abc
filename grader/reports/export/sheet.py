"""An instructor's own CSV file, edited cell by cell.

It also holds the search for a person's row.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.submission import Author
from grader.intake.entry import normalised
from grader.reports.export.scores import ExportRefused

_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)*")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
# A number with its unit, as in `+2 points`, is no formula.
_INNER_FORMULA = re.compile(
    r"""(?!\A)([;\t\r\n|][ "']*)(?=[=@＝＋－＠]|[+-](?!\d[\d.,]*(?: [a-z]|\Z)))"""
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def number_in(cell: str) -> float | None:
    """Returns a cell's number, read as Canvas does: the last `.` or `,` is the decimal mark."""
    text = cell.strip()
    if not _NUMBER.fullmatch(text):
        return None
    *whole, decimals = re.split("[.,]", text)
    return float(f"{''.join(whole)}.{decimals}" if whole else decimals)


def harmless(text: str) -> str:
    """Returns text that no spreadsheet takes for a formula; numbers stay as they are.

    Drops control characters, on which some readers fail, but keeps line breaks and tabs. Some
    spreadsheets begin a cell after a semicolon, a tab or a line break inside a quoted text.
    """
    text = _CONTROL.sub("", text)
    if _NUMBER.fullmatch(text):
        return text
    text = _INNER_FORMULA.sub(r"\1'", text)
    risky = text[:1] in {"\t", "\r", "\n"} or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if risky else text


_BOM = "\ufeff"


class Sheet:
    """Rows of cells; the file's separator, line ends and byte order mark stay."""

    def __init__(self, text: str) -> None:
        """Splits the text into cells.

        Raises:
            ExportRefused: if a quote is never closed.
        """
        body = text.removeprefix(_BOM)
        self._bom = text[: len(text) - len(body)]
        self._end = "\r\n" if "\r\n" in body else "\n"
        self.separator = max(",;", key=lambda mark: len(next(_reader(body, mark), [])))
        self._rows: list[list[str]] = []
        reader = _reader(body, self.separator, strict=True)
        begin = 1
        try:
            for row in reader:
                self._rows.append(row)
                begin = reader.line_num + 1
        except csv.Error as error:
            raise ExportRefused(f"{begin}: a quote of this row is never closed") from error

    @classmethod
    def read(cls, file: Path) -> Sheet:
        """Returns the sheet in a file.

        Raises:
            ExportRefused: if the file cannot be read, or is not CSV in UTF-8.
        """
        try:
            return cls(file.read_bytes().decode("utf-8"))
        except OSError as error:
            raise ExportRefused(f"{file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ExportRefused(
                f"{file} is not a CSV file in UTF-8: give the file as the platform wrote it, "
                "or save it as CSV UTF-8"
            ) from error
        except ExportRefused as refusal:
            raise ExportRefused(f"{file}:{refusal}") from None

    def __str__(self) -> str:
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.separator, lineterminator=self._end)
        writer.writerows(self._rows)
        return self._bom + text.getvalue()

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> list[str]:
        """Returns the texts of a row's cells."""
        return self._rows[number]

    def cell(self, row: int, column: int) -> str:
        """Returns the text of a cell; an empty text if the row is too short to have the cell."""
        cells = self._rows[row]
        return cells[column] if column < len(cells) else ""

    def put(self, row: int, column: int, text: str) -> None:
        """Writes a cell."""
        cells = self._rows[row]
        cells.extend([""] * (column + 1 - len(cells)))
        cells[column] = text


def _reader(text: str, separator: str, strict: bool = False) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict)


_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person's row in a platform's file.

    `number` is the row's place in the file; `label` names it in messages. `keys` are the platform's
    identifiers of the person, its own number first. `names` are the person's names there, and
    `groups` the possible names of the person's group.
    """

    number: int
    label: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    groups: tuple[str, ...] = ()


class NoRow(Exception):
    """The error that no row is surely the person's; its text says why, or is "" if none fits."""


class Directory:
    """An index of people over the rows of a file.

    An id is tried first (against each kind of key in turn), then the e-mail address, then the name.
    If only a name is known, it may be any of the three. If two of them lead to different rows, the
    person has no row.
    """

    def __init__(self, rows: Iterable[PersonRow]) -> None:
        self._rows = {row.number: row for row in rows}
        self._depth = max((len(row.keys) for row in self._rows.values()), default=0)
        # The numbers of rows by each kind of identifier; an id's kind is its place among the keys.
        self._found: dict[tuple[int | str, str], set[int]] = defaultdict(set)
        for row in self._rows.values():
            keys: list[tuple[int | str, str]] = [*enumerate(map(normalised, row.keys))]
            keys += [("name", form) for name in row.names for form in _forms(name)]
            keys += [("group", normalised(group)) for group in row.groups]
            for key in keys:
                self._found[key].add(row.number)

    def rows_of(self, person: Author) -> tuple[list[PersonRow], bool]:
        """Returns the person's row; the rows of its members if the person is a group.

        The second value tells whether an id or an e-mail address matched, and not a name.

        Raises:
            NoRow: if there is no row, or the right one is uncertain.
        """
        is_only_named = not (person.id or person.email)
        key = (person.name,) if is_only_named else (person.id, person.name)
        witnesses = {
            "id": self._with_key(*key),
            "e-mail address": self._with_key(person.email),
            "name": self._named(person.name),
        }
        found = {by: rows for by, rows in witnesses.items() if rows}
        if found:
            row = self._rows[_agreed(found)]
            is_addressed = "@" in person.email and any("@" in key for key in row.keys)
            if "e-mail address" not in found and is_addressed:
                raise NoRow("the e-mail address is not the one of that row")
            return [row], not found.keys().isdisjoint(("id", "e-mail address"))
        group = normalised(person.name)
        members = self._found.get(("group", group)) if group else None
        if not members:
            raise NoRow
        return [self._rows[number] for number in sorted(members)], False

    def _with_key(self, key: str, name: str = "") -> set[int]:
        """Returns the rows with this key, from the most trustworthy kind of key that has any.

        A platform's own numbers are small, so that numbers of rosters and groups equal them by
        chance. For these numbers, the names, if there is one, must also have a word in common.
        """
        for depth in range(self._depth if normalised(key) else 0):
            rows = self._found.get((depth, normalised(key)), set())
            if depth == 0:
                rows = {number for number in rows if _alike(name, self._rows[number].names)}
            if rows:
                return rows
        return set()

    def _named(self, name: str) -> set[int]:
        return {number for form in _forms(name) for number in self._found.get(("name", form), ())}


def _agreed(witnesses: Mapping[str, set[int]]) -> int:
    """Returns the one row on which all witnesses agree; raises NoRow if there is none."""
    (first, rows), *others = witnesses.items()
    for by, found in others:
        if rows.isdisjoint(found):
            raise NoRow(f"the {first} leads to another row than the {by}")
        rows = rows & found
    if len(rows) > 1:
        raise NoRow(f"{len(rows)} rows have this {first}")
    (row,) = rows
    return row


def _alike(name: str, others: Iterable[str]) -> bool:
    """Returns whether names have a word in common, also if one is run together: "doejane"."""
    own, theirs = set(_words(name)), {word for other in others for word in _words(other)}
    if not own or not theirs or own & theirs:
        return True
    pairs = [pair for one in own for two in theirs for pair in ((one, two), (two, one))]
    return 1 in (len(own), len(theirs)) and any(
        len(part) > 1 and (word.startswith(part) or word.endswith(part)) for word, part in pairs
    )


def _forms(name: str) -> set[str]:
    """Returns the forms of a name: "doe, jane" is "jane doe", and "doejane" in Canvas's files."""
    last, comma, first = name.partition(",")
    natural = " ".join(_words(f"{first} {last}" if comma else name))
    return {form for form in (natural, "".join(_words(name))) if form}


def _words(name: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFKC", name).casefold())
