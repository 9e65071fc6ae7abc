"""What is decided of a class whose people are not to be known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.core.submission import Author
from grader.results.anonymous import Mask
from grader.results.decisions.class_list import Whom
from grader.results.decisions.settling import Aimed, Settling


def masked(settling: Settling, mask: Mask) -> Settling:
    """The same settling of grades that are called by their numbers: the points are the same.

    People are called as the submission that counts for them, members of a group with a number.
    """
    names = _masked_names(settling, mask)
    labels = mask.labels

    def person(author: Author) -> Author:
        return names.get(author) or mask.over(author)

    def aimed(one: Aimed) -> Aimed:
        whom = one.target.whom
        whom = Whom(
            None if whom.submission is None else labels.get(whom.submission, whom.submission),
            None if whom.author is None else person(whom.author),
        )
        return Aimed(mask.over(one.decision), replace(one.target, whom=whom))

    return replace(
        settling,
        aimed=tuple(map(aimed, settling.aimed)),
        people={labels[name]: tuple(map(person, own)) for name, own in settling.people.items()},
        absentees=tuple(map(person, settling.absentees)),
        marked=frozenset(labels.get(name, name) for name in settling.marked),
        times={labels.get(name, name): at for name, at in settling.times.items()},
        taken={labels.get(name, name): by for name, by in settling.taken.items()},
        timed_by={labels.get(name, name): by for name, by in settling.timed_by.items()},
    )


def _masked_names(settling: Settling, mask: Mask) -> dict[Author, Author]:
    """What each person is called."""
    found: dict[Author, Author] = {}
    for name, people in settling.people.items():
        for author, said in zip(people, _members(mask.labels[name], people), strict=True):
            found.setdefault(author, Author(said))
    for place, author in enumerate(settling.absentees, 1):
        found.setdefault(author, Author(f"Absent {place}"))
    return found


def _members(label: str, people: Iterable[Author]) -> list[str]:
    numbered = [f"{label}, member {place}" for place, _ in enumerate(people, 1)]
    return numbered if len(numbered) > 1 else [label] * len(numbered)
