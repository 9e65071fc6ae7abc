"""Entries: the submissions at an instructor's paths, under printable names.

A submission's name is the key of its grade. A new export, a second folder or a corrected roster may
give the same name to another person: people are compared by id, e-mail address and name.
"""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Callable, Iterable, Mapping
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


@dataclass(frozen=True, slots=True)
class GradedBefore:
    """An existing grade: its authors, and the hash of its content."""

    authors: tuple[Author, ...] = ()
    digest: str = ""


def of_another(
    entries: Iterable[Entry], graded: Mapping[str, GradedBefore], digest: Callable[[Entry], str]
) -> list[Entry]:
    """Returns the entries whose names have another person's grade.

    A corrected roster may give a grade to another person: a submission that is known only by its
    name, and has the same content as before, is not among them.
    """
    return [
        entry
        for entry in entries
        if (before := graded.get(entry.name)) is not None
        and are_others(entry.name, before.authors, entry.authors)
        and not (entry.named_only and digest(entry) == before.digest)
    ]


def are_others(name: str, one: Iterable[Author], other: Iterable[Author]) -> bool:
    """Returns whether two lists of a submission's authors have no person in common.

    The strongest identifier that both lists have decides. Platforms write an id at the end of the
    submission's `name`: two authors with that id are the same person.
    """
    first, second = [*one], [*other]
    if any(_keys(first, kind) & _keys(second, kind) for kind in ("id", "email")):
        return False
    if _is_told_by(name, first) and _is_told_by(name, second):
        return False
    for kind in ("id", "email", "name"):
        mine, theirs = _keys(first, kind), _keys(second, kind)
        if mine and theirs:
            return not mine & theirs
    return False


def _keys(people: Iterable[Author], kind: str) -> set[str]:
    return {normalised(getattr(person, kind)) for person in people} - {""}


def _is_told_by(name: str, people: Iterable[Author]) -> bool:
    ends = tuple(f"{mark}{key}" for key in _keys(people, "id") for mark in "-_")
    return bool(ends) and f"_{normalised(name)}".endswith(ends)
