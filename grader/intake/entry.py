"""The submissions that an instructor's paths hold, under names that are fit to print."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.refusal import Refusal
from grader.core.submission import Author
from grader.intake.copying.limits import CODE, MIB, PYTHON

_LONGEST = 120  # characters of one name in a sentence


def printable(name: str) -> str:
    """The name with what does not print (control characters, bytes that are no UTF-8) escaped."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def name_as_written(name: str) -> str:
    """A file's name without what a browser added to it, the suffix of code in small letters."""
    for suffix in sorted(CODE, key=len, reverse=True):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return f"{name[: -len(suffix)]}{'.py' if suffix in PYTHON else '.ipynb'}"
    return name


def shortened(name: str) -> str:
    """Returns the name, printable, its middle cut out if it is very long."""
    text = printable(name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[-half:]}"


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Returns a sort key that puts `group2` before `group10`."""
    pieces = re.split(r"([0-9]+)", name)
    return tuple(map(_in_order, filter(None, pieces)))


def size_in_words(size: int) -> str:
    """Returns a number of bytes as people say it."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} kB" if size < MIB else f"{size / MIB:,.1f} MB".replace(".0 ", " ")


def several(names: list[str], count: int | None = None, shown: int = 5) -> str:
    """Returns the first few names, and how many more there are of `count` (default: of `names`)."""
    more = (len(names) if count is None else count) - len(names[:shown])
    text = ", ".join(shortened(name) for name in names[:shown])
    return f"{text} and {more} more" if more > 0 else text


def _in_order(piece: str) -> tuple[int, int, str]:
    """Returns a number by its digits, of which there may be more than Python makes a number of."""
    if not piece.isdecimal():
        return 1, 0, piece.casefold()
    digits = piece.lstrip("0")
    return 0, len(digits), digits


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file or folder of a platform's download that belongs to a submission.

    `place` is its path inside the download, `name` what it is called in the submission. A folder
    without a name is the submission's top.
    """

    place: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission before it is taken in: a name fit to print, and where it lies.

    `path` is its folder or file; or else a platform's download, a folder or a zip, of which
    `pieces` belong to this submission. `authors` and `late` are as the platform told. Of two
    submissions of one person, the one with the larger `order` is the later one; `handed_in` is
    when it was, if the platform tells. What was found where it was handed in, before it travelled
    elsewhere: `left_out` are sentences, `refused` says why nothing of it can be graded. Where it is
    `named_only`, its name is all that says whose it is; where it had another's name and was
    numbered, it `shares` that name.
    """

    name: str
    path: Path
    pieces: tuple[Piece, ...] = ()
    authors: tuple[Author, ...] = ()
    late: bool = False
    order: float = 0
    handed_in: datetime.datetime | None = None
    left_out: tuple[str, ...] = ()
    refused: str = ""
    named_only: bool = False
    shares: str = ""

    @property
    def downloaded_as(self) -> tuple[str, ...]:
        """The names of what belongs to it where it lies, as a platform's download gave them."""
        places = [Path(piece.place).name for piece in self.pieces] or [self.path.name]
        return tuple(printable(name) for name in places)

    def as_json(self) -> dict[str, Any]:
        """Returns what the intake process needs, without the author of the submission."""
        pieces = [[piece.place, piece.name] for piece in self.pieces]
        return {
            "name": self.name,
            "path": os.fspath(self.path),
            "pieces": pieces,
            "left_out": list(self.left_out),
            "refused": self.refused,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Entry:
        """Returns the entry that `as_json` wrote, without its people."""
        pieces = tuple(Piece(place, name) for place, name in row["pieces"])
        found = {"left_out": tuple(row["left_out"]), "refused": row["refused"]}
        return cls(row["name"], Path(row["path"]), pieces, **found)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that lies among the submissions and is none, and why.

    `later` is the name of the submission that counts instead, where that is the reason.
    """

    path: Path
    reason: str
    later: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The submissions, in natural order of their names, and what an instructor should know.

    `kinds` say what each path was recognised as and what it holds, a line for each. `notes` are
    sentences: names given twice, a path that is itself a submission. `absentees` are those of a
    roster who handed in nothing; `unsure` are names of submissions, each with the reason why it is
    not certain whose it is; `kept` are names of submissions graded before whose grades stay.
    """

    entries: tuple[Entry, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    absentees: tuple[Author, ...] = ()
    unsure: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()


class NothingToGrade(Refusal, ValueError):
    """A path that was given holds no submission; the text is one sentence that says why."""
