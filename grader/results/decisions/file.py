"""`decisions.toml`: read with the line of everything in it, added to, and taken from.

The file is a row of tables, one for each decision, and each is read by itself. So decisions of two
people are laid together as text, and a word on a wrong one names its line. A new one is written
behind the others, and nothing of what is there is written anew.
"""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.text import toml_value
from grader.results.decisions.decision import BadDecisions, Decision, Decisions
from grader.results.decisions.form import FORMS, complaints, decision_of

NAME = "decisions.toml"
_HEADER = re.compile(r"\s*\[\[")
_MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_SHOWN = 20
_HEAD = """\
# What was decided about these grades after they were made: see docs/instructors.md.
# Written by `grader decide` or by hand; grading never changes this file.
# In one repository, `decisions.toml merge=union` in .gitattributes keeps what two people add.
"""


@dataclass(frozen=True, slots=True)
class Written:
    """The lines of one table: the first (from 1), the one behind the last, and what they say."""

    first: int
    end: int
    content: Mapping[str, Any]


def read_decisions(file: Path) -> Decisions:
    """Returns the decisions in a file; none if there is no such file.

    Raises:
        BadDecisions: if it cannot be read, or with a line for each thing in it that is wrong.
    """
    decisions: list[Decision] = []
    wrong: list[str] = []
    lines = _lines(file)
    for written in _tables(file, lines):
        for kind, tables in written.content.items():
            if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
                line = _line_of(kind, lines, written)
                wrong.append(
                    f"{file.name}:{line}: {kind!r} stands in no decision: each begins with a line "
                    f"such as [[{next(iter(FORMS))}]]"
                )
                continue
            for table in tables:
                said = [*complaints(kind, table)]
                wrong += [
                    f"{file.name}:{_line_of(key, lines, written)}: {what}" for key, what in said
                ]
                if not said:
                    decisions.append(decision_of(kind, table, file.name, written.first))
    refuse(wrong)
    return Decisions(tuple(decisions))


def refuse(wrong: list[str]) -> None:
    """Refuses decisions of which something is wrong.

    Raises:
        BadDecisions: if anything is.
    """
    if wrong:
        more = [f"and {len(wrong) - _SHOWN} more"] * (len(wrong) > _SHOWN)
        raise BadDecisions("\n".join([*wrong[:_SHOWN], *more]))


def append_decision(file: Path, kind: str, table: Mapping[str, Any]) -> int:
    """Writes a decision behind those that are there; the line that it begins in.

    Who merges two such files by lines finds a different first and last line in any two tables, and
    in between no more than three equal ones: so whole tables are kept together.

    Raises:
        BadDecisions: if the file holds something else, or cannot be written.
    """
    read_decisions(file)
    before = "\n".join(_lines(file)) or _HEAD.rstrip()
    order = ["who", *(key for key in FORMS[kind].keys if key not in ("who", "when")), "when"]
    given = [key for key in order if table.get(key) is not None]
    written = "".join(f"{key} = {toml_value(table[key])}\n" for key in given)
    text = f"{before.rstrip()}\n\n[[{kind}]]  # {secrets.token_hex(3)}\n{written}"
    _write(file, text)
    return len(before.rstrip().split("\n")) + 2


def remove_decision(file: Path, line: int) -> None:
    """Takes the decision out that begins in a line; what stands around it stays as it is.

    Raises:
        BadDecisions: if none does, or the file cannot be written.
    """
    lines = _lines(file)
    table = next((one for one in _tables(file, lines) if one.first == line), None)
    if table is None:
        raise BadDecisions(f"{file.name}:{line}: no decision begins here")
    end = table.end
    while end > table.first and lines[end - 2].lstrip()[:1] in ("", "#"):
        end -= 1  # what stands before the next decision belongs to that
    kept = [*lines[: table.first - 1], *lines[end - 1 :]]
    _write(file, "\n".join(kept).rstrip() + "\n")


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadDecisions(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadDecisions(f"{file} is not text in UTF-8") from error
    return text.removeprefix("\ufeff").split("\n")


def _write(file: Path, text: str) -> None:
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(file)
    except OSError as error:
        raise BadDecisions(f"{file} cannot be written: {error.strerror}") from error


def _tables(file: Path, lines: list[str]) -> Iterator[Written]:
    """Yields the tables of a file, each with its lines.

    What stands before the first is one as well.

    A text of several lines may hold what looks like a table's first line: but what ends within a
    text is no TOML, and what ends before a table is.
    """
    _refuse_markers(file, lines)
    first = 0
    starts = [*(n for n, line in enumerate(lines) if n and _HEADER.match(line)), len(lines)]
    for end in starts:
        try:
            content = tomllib.loads("\n".join(lines[first:end]))
        except tomllib.TOMLDecodeError as error:
            if end < len(lines):
                continue
            raise BadDecisions(_located(file, first, error)) from error
        if content:
            yield Written(first + 1, end + 1, content)
        first = end


def _refuse_markers(file: Path, lines: list[str]) -> None:
    for number, line in enumerate(lines, 1):
        if line.startswith(_MARKERS):
            raise BadDecisions(
                f"{file.name}:{number}: a merge stopped here: keep the decisions of both sides, "
                f"and take out the lines that begin with {line[:7]} and the like"
            )


def _located(file: Path, first: int, error: tomllib.TOMLDecodeError) -> str:
    """Returns the error in the TOML, with the line counted in the file."""
    said = str(error)
    place = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", said)
    line = first + int(place[1]) if place and place[1] else first + 1
    what = said[: place.start()].strip() if place else said
    return f"{file.name}:{line}: this is not TOML: {what[:1].lower()}{what[1:]}"


def _line_of(key: str, lines: list[str], table: Written) -> int:
    """Returns the line of a table that a key stands in, or else its first one."""
    named = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    within = range(table.first - 1, min(table.end - 1, len(lines)))
    return next((n + 1 for n in within if key and named.match(lines[n])), table.first)
