"""`decisions.toml`: read with the line of each decision, extended and shortened.

The file is a sequence of tables, one for each decision, and each table is read by itself. Decisions
of two people can thus be merged as text, and an error names its line. A new decision is appended;
the tables before it are not rewritten.

Each table has a form; a violation of it is reported with its line.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.files import replaced
from grader.core.late_rule import YEARS
from grader.core.names import meant
from grader.core.points import hundredths
from grader.core.text import toml_value
from grader.results.decisions.decision import BadDecisions, Decision, DecisionKind

_COMMON_KEYS = ("reason", "who", "when")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class TableForm:
    """The keys of a table: needed ones, groups with exactly or at most one, and those of any."""

    needed: tuple[str, ...]
    exactly_one: tuple[str, ...] = ()
    at_most_one: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[str, ...]:
        """Returns the keys of this table alone, in the order in which they are written."""
        keys = (*self.needed, *self.at_most_one, *self.exactly_one)
        return tuple(key for key in keys if key not in _COMMON_KEYS)

    @property
    def keys(self) -> tuple[str, ...]:
        """Returns every key that the table may have, in the order in which they are written."""
        return (*self.own, *_COMMON_KEYS)


FORMS: Mapping[str, TableForm] = {
    DecisionKind.POINTS: TableForm(("person", "reason"), ("to", "by"), ("test", "exercise")),
    DecisionKind.COMMENT: TableForm(("person", "text")),
    DecisionKind.EXCUSED: TableForm(("person",), at_most_one=("exercise",)),
    DecisionKind.EXTENSION: TableForm(("person",), ("until", "days")),
    DecisionKind.TAKEN_OUT: TableForm(("reason",), ("test", "exercise")),
    DecisionKind.BONUS: TableForm(("reason",), ("test", "exercise")),
    DecisionKind.TAKEN_INSTEAD: TableForm(("person", "submission")),
    DecisionKind.WHOSE: TableForm(("submission", "person")),
    DecisionKind.LATE_DAYS: TableForm(("person", "left")),
    DecisionKind.HANDED_IN: TableForm(("person", "at")),
    DecisionKind.TIMES: TableForm(("table",)),
}


def decision_of(kind: str, table: Mapping[str, Any], file: str, line: int) -> Decision:
    """Returns the decision of a table without faults."""
    fields = dict(table)
    for key in ("to", "by"):
        if key in fields:
            fields[key] = hundredths(fields[key])
    return Decision(kind=DecisionKind(kind), file=file, line=line, **fields)


def complaints(kind: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence for each fault of a table."""
    if kind not in FORMS:
        yield f"nothing is decided by [[{kind}]]: {meant(kind, FORMS)}"
        return
    form = FORMS[kind]
    for key, value in table.items():
        if key not in form.keys:
            yield f"[[{kind}]] knows no {key!r}: {meant(key, form.keys)}"
        elif wrong := _CHECKS[key](value):
            said = str(value) if isinstance(value, datetime.date) else repr(value)
            yield f"{key} must be {wrong}, not {said[:_LONGEST]}"
    for key in form.needed:
        if key not in table:
            yield f"[[{kind}]] needs {key!r}"
    if form.exactly_one and len([key for key in form.exactly_one if key in table]) != 1:
        yield f"[[{kind}]] needs one of {' and '.join(form.exactly_one)}"
    if len([key for key in form.at_most_one if key in table]) > 1:
        yield f"[[{kind}]] is of a {' or an '.join(form.at_most_one)}, not of both"


def _text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "text in quotes"


def _points(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= 1e9:
        return "a number of points"
    return "" if value == round(value, 2) else "whole hundredths of a point"


def _points_at_least_0(value: Any) -> str:
    return _points(value) or ("0 or more" if value < 0 else "")


def _count(value: object) -> str:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10_000
    return "" if is_count else "a whole number of days"


def _moment(value: object) -> str:
    if not isinstance(value, datetime.datetime):
        return "a date with a time, as 2026-10-03T23:59:00"
    return "" if value.year in YEARS else f"in the years {YEARS[0]} to {YEARS[-1]}"


# By key: returns "" or the words for a right value.
_CHECKS: Mapping[str, Callable[[object], str]] = {
    **dict.fromkeys(
        ("person", "reason", "who", "text", "exercise", "test", "submission", "table"), _text
    ),
    **dict.fromkeys(("when", "until", "at"), _moment),
    **dict.fromkeys(("days", "left"), _count),
    "to": _points_at_least_0,
    "by": _points,
}


NAME = "decisions.toml"
_TABLE_HEADER = re.compile(r"\s*\[\[")
_MOST_FAULTS = 20
_FILE_HEAD = """\
# What was decided about these grades after they were made: see docs/instructors.md.
# Written by `grader decide` or by hand; grading never changes this file.
# In one repository, `decisions.toml merge=union` in .gitattributes keeps what two people add.
"""


def read_decisions(file: Path) -> tuple[Decision, ...]:
    """Returns the decisions in a file; none if there is no such file.

    Raises:
        BadDecisions: if the file cannot be read, or has faults; the text has a line for each.
    """
    decisions: list[Decision] = []
    wrong: list[str] = []
    lines = _lines(file)
    for first, _, content in _tables(file, lines):
        for kind, tables in content.items():
            is_one = isinstance(tables, list) and [*map(type, tables)] == [dict]
            if not is_one:
                wrong.append(
                    f"{file.name}:{first}: {kind!r} stands in no decision: each begins "
                    f"with a line such as [[{next(iter(FORMS))}]]"
                )
                continue
            for table in tables:
                said = [*complaints(kind, table)]
                wrong += [f"{file.name}:{first}: {what}" for what in said]
                if not said:
                    decisions.append(decision_of(kind, table, file.name, first))
    refuse(wrong)
    return tuple(decisions)


def refuse(wrong: list[str]) -> None:
    """Refuses decisions with faults.

    Raises:
        BadDecisions: if there is a fault.
    """
    if wrong:
        more = [f"and {len(wrong) - _MOST_FAULTS} more"] * (len(wrong) > _MOST_FAULTS)
        raise BadDecisions("\n".join([*wrong[:_MOST_FAULTS], *more]))


def append_decision(file: Path, kind: str, table: Mapping[str, Any]) -> int:
    """Appends a decision to the file, and returns the line in which it begins.

    A merge by lines keeps tables whole. The first and last lines of any two tables differ, and at
    most three lines in between are equal.

    Raises:
        BadDecisions: if the file holds something else, or cannot be written.
    """
    order = ["who", *(key for key in FORMS[kind].keys if key not in ("who", "when")), "when"]
    given = [key for key in order if table.get(key) is not None]
    file = Path(os.path.realpath(file))  # a link stays
    written = "".join(f"{key} = {toml_value(table[key])}\n" for key in given)
    with _locked(file):
        read_decisions(file)
        before = ("\n".join(_lines(file)) or _FILE_HEAD).rstrip()
        _write(file, f"{before}\n\n[[{kind}]]  # {secrets.token_hex(3)}\n{written}")
    return len(before.split("\n")) + 2


def remove_decision(file: Path, line: int) -> None:
    """Removes the decision that begins in a line; all around it stays unchanged.

    Raises:
        BadDecisions: if no decision begins there, or the file cannot be written.
    """
    file = Path(os.path.realpath(file))
    with _locked(file):
        lines = _lines(file)
        ends = {first: end for first, end, _ in _tables(file, lines)}
        if line not in ends:
            raise BadDecisions(f"{file.name}:{line}: no decision begins here")
        end = ends[line]
        while end > line and lines[end - 2].lstrip()[:1] in ("", "#"):
            end -= 1  # comments before the next decision belong to that
        kept = [*lines[: line - 1], *lines[end - 1 :]]
        _write(file, "\n".join(kept).rstrip() + "\n")


@contextlib.contextmanager
def _saying(file: Path, done: str) -> Iterator[None]:
    """Turns an error inside into a `BadDecisions`: the file cannot be `done`."""
    try:
        yield
    except OSError as error:
        raise BadDecisions(f"{file} cannot be {done}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadDecisions(f"{file} is not text in UTF-8") from error
    except UnicodeEncodeError as error:
        raise BadDecisions("a text of this decision is not UTF-8: set a UTF-8 locale") from error


def _lines(file: Path) -> list[str]:
    with _saying(file, "read"):
        if not file.exists():
            return []
        if not file.is_file():  # a pipe would be waited for
            raise BadDecisions(f"{file} is not an ordinary file: move it away")
        return file.read_text(encoding="utf-8").removeprefix("\ufeff").split("\n")


def _write(file: Path, text: str) -> None:
    with _saying(file, "written"), replaced(file) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Keeps other commands from changing the file at the same time.

    Raises:
        BadDecisions: if the file's folder cannot be opened or locked.
    """
    with contextlib.ExitStack() as stack:
        with _saying(file, "written"):
            folder = os.open(file.parent, os.O_RDONLY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield


def _tables(file: Path, lines: list[str]) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Yields each table's first line (from 1), the line after its last, and its content.

    Text before the first header is a table too.

    A string of several lines may hold a line that looks like a header. A part that ends inside a
    string is not TOML, but a part that ends before a header is.
    """
    first = 0
    starts = [*(n for n, line in enumerate(lines) if n and _TABLE_HEADER.match(line)), len(lines)]
    for end in starts:
        try:
            content = tomllib.loads("\n".join(lines[first:end]))
        except tomllib.TOMLDecodeError as error:
            if end < len(lines):
                continue
            raise BadDecisions(_located(file, first, error)) from error
        except (ValueError, RecursionError) as error:  # a number or a nesting beyond all bounds
            raise BadDecisions(f"{file.name}:{first + 1}: this cannot be read: {error}") from error
        if content:
            yield first + 1, end + 1, content
        first = end


def _located(file: Path, first: int, error: tomllib.TOMLDecodeError) -> str:
    """Returns the error in the TOML, with its line counted in the whole file."""
    said = str(error)
    place = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", said)
    line = first + int(place[1]) if place and place[1] else first + 1
    what = said[: place.start()].strip() if place else said
    return f"{file.name}:{line}: this is not TOML: {what[:1].lower()}{what[1:]}"
