"""Protection of existing grades from replacement by another person's submission.

A submission's name is the key of its grade. A new export, a second folder or a corrected roster
may give the same name to another person. Then the grade stays, and the new submission gets another
name. People are compared by id, e-mail address and name.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.core.submission import Author
from grader.intake.entry import Discovery, Entry, names_of, normalised


@dataclass(frozen=True, slots=True)
class GradedBefore:
    """An existing grade: its authors, the hash of its content, and why its author is unsure."""

    authors: tuple[Author, ...] = ()
    digest: str = ""
    unsure: str = ""


def keep_graded(
    discovery: Discovery, graded: Mapping[str, GradedBefore], digest: Callable[[Entry], str]
) -> Discovery:
    """Returns the class, with new names for submissions whose names have another person's grade.

    The author of such a submission is unsure. The grade is `kept`, unless its authors have another
    submission in the class. A corrected roster renames no submission: one that is known only by its
    name, and has the same content as before, keeps that name.
    """
    entries = _swapped(discovery.entries, graded, digest)
    others = {
        entry.name for entry in entries if _is_anothers(entry, graded.get(entry.name), digest)
    }
    unsure = dict(discovery.unsure)
    notes: list[str] = []
    named: list[Entry] = []
    taken = {entry.name for entry in entries}
    for entry in entries:
        if entry.name in others:
            name = _free_name(entry, taken, graded)
            taken.add(name)
            why = (
                f"handed in under the name of {names_of(graded[entry.name].authors)}'s submission "
                f"{entry.name}, whose grade stays"
            )
            unsure[name] = why
            unsure.pop(entry.name, None)
            notes.append(f"{name} is {why}.")
            entry = dataclasses.replace(entry, name=name)
        named.append(entry)
    owners = _owners(named, graded)
    for entry in named:
        if entry.named_only and (why := _in_addition(entry, owners, graded)):
            unsure.setdefault(entry.name, why)
            notes.append(f"It is not certain whose {entry.name} is: {why}.")
    sure = keys_of(author for one in named if one.name not in unsure for author in one.authors)
    again = {name for name in others if all(keys_of((a,)) & sure for a in graded[name].authors)}
    kept = tuple(sorted(others - again))
    theirs = keys_of(author for name in kept for author in graded[name].authors)
    absent = (one for one in discovery.absentees if keys_of((one,)).isdisjoint(theirs))
    return dataclasses.replace(
        discovery,
        entries=tuple(named),
        notes=(*discovery.notes, *notes),
        unsure=tuple(unsure.items()),
        absentees=tuple(absent),
        kept=kept,
    )


def under_graded_names(
    entries: Iterable[Entry], graded: Mapping[str, str], digest: Callable[[Entry], str]
) -> dict[Entry, str]:
    """Returns the entries under the names that a batch gave them, each with its hash.

    `graded` holds the hash of each submission with a grade. An entry whose content has no grade
    keeps its name, unless that name is another entry's.
    """
    digests = {entry: digest(entry) for entry in entries}
    names = {entry: entry.name for entry, own in digests.items() if graded.get(entry.name) == own}
    for entry, own in digests.items():
        free = (name for name in graded if graded[name] == own and name not in names.values())
        numbered = (name for name in free if _unnumbered(name) == _unnumbered(entry.name))
        if entry not in names and (name := next(numbered, None)) is not None:
            names[entry] = name
    taken = set(names.values())
    return {
        dataclasses.replace(entry, name=names.get(entry, entry.name)): own
        for entry, own in digests.items()
        if entry in names or entry.name not in taken
    }


def _unnumbered(name: str) -> str:
    return re.sub(r"-\d+$", "", name)


def _is_anothers(entry: Entry, before: GradedBefore | None, digest: Callable[[Entry], str]) -> bool:
    if before is None or not are_others(entry.name, before.authors, entry.authors):
        return False
    return not (entry.named_only and digest(entry) == before.digest)


def _swapped(
    entries: Sequence[Entry], graded: Mapping[str, GradedBefore], digest: Callable[[Entry], str]
) -> list[Entry]:
    """Returns the entries, after giving those of one name back the names of their grades.

    Submissions of one name are numbered in the order of their paths. A new path before the others
    would otherwise give the names of their grades to other submissions.
    """
    given: dict[Entry, str] = {}
    taken = {entry.name for entry in entries}
    for shared in dict.fromkeys(entry.shared_name for entry in entries if entry.shared_name):
        group = [entry for entry in entries if shared in (entry.name, entry.shared_name)]
        own = [entry.name for entry in group]
        beyond = [name for name in graded.keys() - taken if _unnumbered(name) == shared != name]
        for name in filter(graded.__contains__, [*own, *sorted(beyond)]):
            left = (entry for entry in group if entry not in given)
            owned = (entry for entry in left if _belongs(entry, graded[name], digest))
            if (owner := min(owned, key=lambda one: one.name != name, default=None)) is not None:
                given[owner] = name
        free = [name for name in own if name not in given.values()]
        left = (entry for entry in group if entry not in given)
        for entry in sorted(left, key=lambda one: one.name not in free):
            given[entry] = entry.name if entry.name in free else free[0]
            free.remove(given[entry])
    return [dataclasses.replace(entry, name=given.get(entry, entry.name)) for entry in entries]


def _belongs(entry: Entry, before: GradedBefore, digest: Callable[[Entry], str]) -> bool:
    """Returns whether a grade is surely this submission's, by its people or its content."""
    if before.authors and entry.authors:
        return are_same(before.authors, entry.authors)
    return digest(entry) == before.digest


def _free_name(entry: Entry, taken: set[str], graded: Mapping[str, GradedBefore]) -> str:
    """Returns a free name, or one under which these authors were graded before."""
    number = 2
    while (name := f"{entry.name}-{number}") in taken or (
        name in graded and are_others(name, graded[name].authors, entry.authors)
    ):
        number += 1
    return name


def _owners(entries: Iterable[Entry], graded: Mapping[str, GradedBefore]) -> dict[str, str]:
    """Returns the submission for which a person surely has a grade, by id and e-mail address."""
    sure = [one.name for one in entries if one.name in graded and not graded[one.name].unsure]
    return {key: name for name in reversed(sure) for key in keys_of(graded[name].authors)}


def _in_addition(
    entry: Entry, owners: Mapping[str, str], graded: Mapping[str, GradedBefore]
) -> str:
    """Returns why a submission is unsure, if only its name says that its author has a grade."""
    before = graded.get(entry.name)
    if before is not None and not before.unsure:
        return ""
    other = next((owners[key] for key in sorted(keys_of(entry.authors)) if key in owners), "")
    return f"{names_of(entry.authors)} has a grade already, for {other}" if other else ""


def keys_of(people: Iterable[Author]) -> set[str]:
    """Returns the ids and e-mail addresses of people, each after the word "id" or "email"."""
    known = [*people]
    return {f"{kind} {key}" for kind in ("id", "email") for key in _keys(known, kind)}


def are_same(one: Iterable[Author], other: Iterable[Author]) -> bool:
    """Returns whether both have an id or an e-mail address in common; names prove nothing."""
    return not keys_of(one).isdisjoint(keys_of(other))


def are_others(name: str, one: Iterable[Author], other: Iterable[Author]) -> bool:
    """Returns whether two lists of a submission's authors have no person in common.

    The strongest identifier that both lists have decides. Platforms write an id at the end of the
    submission's `name`: two authors with that id are the same person.
    """
    first, second = [*one], [*other]
    if are_same(first, second) or (_is_told_by(name, first) and _is_told_by(name, second)):
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
