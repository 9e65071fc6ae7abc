"""Of two submissions of one person the latest counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.submission import Author
from grader.intake.entry import Entry, Skipped
from grader.intake.naming import several


@dataclass(frozen=True, slots=True)
class Latest:
    """The entries that count, those that do not, and a note on each that counts for some only."""

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


def latest_of_each(entries: Sequence[Entry]) -> Latest:
    """Leaves to each person the submission that was handed in last, of equals the last one here.

    A group's submission stays with those members who have no later one; one that stays with nobody
    does not count. Whom only a name is known of is never taken for somebody else of that name.
    """
    last: dict[tuple[str, ...], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        last |= {_key(author): entry for author in entry.authors if any(_key(author))}
    kept: list[Entry] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    for entry in entries:
        later = {
            author: last[_key(author)]
            for author in entry.authors
            if last.get(_key(author), entry) is not entry
        }
        staying = tuple(author for author in entry.authors if author not in later)
        if later and not staying:
            names = [other.name for other in later.values()]
            reason = f"handed in again: {several(list(dict.fromkeys(names)))} counts"
            skipped.append(Skipped(_place(entry), reason, names[0]))
            continue
        kept.append(dataclasses.replace(entry, authors=staying) if later else entry)
        for author, other in later.items():
            who = author.name or author.email or author.id
            notes.append(
                f"{who} handed in {entry.name} with others and {other.name} later: "
                f"{other.name} counts for {who}."
            )
    return Latest(tuple(kept), tuple(skipped), tuple(notes))


def _key(author: Author) -> tuple[str, ...]:
    """What stands for a person; nothing where no more than a name is known."""
    if author.email:
        return (author.email.casefold(),)
    return (author.id, author.name) if author.id else ()


def _place(entry: Entry) -> Path:
    return entry.path / entry.pieces[0].place if entry.pieces else entry.path
