"""Existing grades whose names another person's submission now has.

A submission's name is the key of its grade. A new export, a second folder or a corrected roster
may give the same name to another person. People are compared by id, e-mail address and name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from grader.core.submission import Author
from grader.intake.entry import Entry, normalised


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
