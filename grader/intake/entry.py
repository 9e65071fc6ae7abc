"""Entries: the submissions at an instructor's paths, under printable names."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.names import printable
from grader.core.submission import Author
from grader.core.text import PlainData, Refusal


@dataclass(frozen=True, slots=True)
class Piece:
    """A file or folder of a platform's download that belongs to a submission.

    `place` is its path in the download, `name` its name in the submission. A folder without a name
    is the submission's top.
    """

    place: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry(PlainData):
    """A submission before it is taken in: a printable name, and where it lies.

    `path` is its folder or file; or else a platform's download, a folder or a zip, of which
    `pieces` belong to this submission. `authors` and `late` come from the platform. A person's
    later submission has the larger `order`; `handed_in` is its time, if the platform gives one.

    A submission that came from another machine carries what was found there: `left_out` are
    sentences, `refused` says why nothing of it can be graded. `named_only` means that only the
    name says whose submission it is.
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

    @property
    def downloaded_as(self) -> tuple[str, ...]:
        """Returns the names that a platform's download gave to the submission's files."""
        places = [Path(piece.place).name for piece in self.pieces] or [self.path.name]
        return tuple(printable(name) for name in places)

    @property
    def without_people(self) -> Entry:
        """Returns the entry for other processes, which need not know its people and its time."""
        return replace(self, authors=(), late=False, order=0, handed_in=None)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item among the submissions that does not count as one, and the reason.

    `later` names the submission that counts instead, if that is the reason.
    """

    path: Path
    reason: str
    later: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The submissions, in natural order of their names, and facts for the instructor.

    `kinds` has a line for each path on its kind and its content. `notes` are sentences, for example
    on names given twice or a path that is itself a submission. `absentees` are people on the roster
    who handed in nothing. `unsure` are names of submissions, each with the reason why its author is
    not certain.
    """

    entries: tuple[Entry, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    absentees: tuple[Author, ...] = ()
    unsure: tuple[tuple[str, str], ...] = ()


class NothingToGrade(Refusal, ValueError):
    """A given path holds no submission; the text is one sentence that says why."""


def normalised(text: str) -> str:
    """Returns an identifier in Unicode NFC, case-folded, without surrounding spaces."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def names_of(people: Iterable[Author]) -> str:
    """Returns the people's names, or their addresses or ids where no name is known."""
    return ", ".join(one.called for one in people)
