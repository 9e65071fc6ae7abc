"""Compares two descriptions of people by id, e-mail address and name."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from grader.core.submission import Author


def compared(text: str) -> str:
    """Returns an identifier in Unicode NFC, case-folded, without surrounding spaces."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def keys_of(people: Iterable[Author]) -> set[str]:
    """Returns the ids and e-mail addresses of people, told apart by a word in front."""
    known = [*people]
    return {f"{kind} {key}" for kind in ("id", "email") for key in _keys(known, kind)}


def are_same(one: Iterable[Author], other: Iterable[Author]) -> bool:
    """Returns whether both have an id or an e-mail address in common; names prove nothing."""
    return not keys_of(one).isdisjoint(keys_of(other))


def are_others(name: str, one: Iterable[Author], other: Iterable[Author]) -> bool:
    """Returns whether two descriptions of a submission's people have nobody in common.

    The strongest identifier that both have decides. Platforms write an id at the end of the
    submission's `name`: people with that id are the same ones.
    """
    first, second = [*one], [*other]
    if are_same(first, second) or (_is_told_by(name, first) and _is_told_by(name, second)):
        return False
    for kind in ("id", "email", "name"):
        mine, theirs = _keys(first, kind), _keys(second, kind)
        if mine and theirs:
            return not mine & theirs
    return False


def called(people: Iterable[Author]) -> str:
    """Returns the people's names, or their addresses or ids where no name is known."""
    return ", ".join(one.name or one.email or one.id for one in people)


def _keys(people: Iterable[Author], kind: str) -> set[str]:
    return {compared(getattr(person, kind)) for person in people} - {""}


def _is_told_by(name: str, people: Iterable[Author]) -> bool:
    ends = tuple(f"{mark}{key}" for key in _keys(people, "id") for mark in "-_")
    return bool(ends) and f"_{compared(name)}".endswith(ends)
