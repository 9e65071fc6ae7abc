"""Settles grades: from the machine's points, by decisions and rules, to what each person gets."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from grader.core.points import LateRule
from grader.core.submission import Author
from grader.core.verdict import Grade
from grader.results.decisions.class_list import Whom, whoms
from grader.results.decisions.decision import Comment, Decision, Excused, Extension, LateDays
from grader.results.decisions.person import PersonsPoints
from grader.results.decisions.settlement import LateAllowance, Settlement

_Kind = TypeVar("_Kind", bound=Decision)


@dataclass(frozen=True, slots=True)
class DecisionTarget:
    """The target of a decision in the class: the people, the exercise and its tests."""

    whom: Whom
    exercise: str = ""
    tests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Aimed:
    """A decision, and what it is about."""

    decision: Decision
    target: DecisionTarget


@dataclass(frozen=True, slots=True)
class Settling:
    """Settles the grades of a class, one at a time: all that it needs of the class it holds.

    `people` are whom each submission counts for, nobody where another one was taken instead;
    `marked` are the submissions that a platform called late, `times` when they were handed in, as
    far as that is known, and `timed_by` the decisions that told it, by their places; `taken` are
    those that say whose a submission is, or that it counts in place of another. `unsure` says why
    it is not certain whose some are, as long as nobody decided it.
    """

    aimed: tuple[Aimed, ...]
    rule: LateRule | None
    people: Mapping[str, tuple[Author, ...]]
    absentees: tuple[Author, ...]
    marked: frozenset[str]
    times: Mapping[str, datetime.datetime]
    timed_by: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)
    _about: Mapping[Whom, Sequence[int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        about: dict[Whom, list[int]] = {}
        for place, one in enumerate(self.aimed):
            about.setdefault(one.target.whom, []).append(place)
        object.__setattr__(self, "_about", about)

    @property
    def digest(self) -> str:
        """Returns a name for all that is decided: settlings of one digest give the same."""
        said = repr((self.aimed, self.rule, sorted(self.times.items())))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def settle(self, grade: Grade) -> tuple[Settlement, ...]:
        """Returns the settlements of a submission; people with equal settlements share one."""
        settled: dict[tuple[object, ...], Settlement] = {}
        for person in self.people.get(grade.submission, (Author(name=grade.submission),)):
            own = PersonsPoints(self, grade, person).settled()
            key = (own.changes, own.comments, own.excused, own.undecided)
            known = settled.get(key, replace(own, people=()))
            settled[key] = replace(
                known, people=(*known.people, person), sources=known.sources | own.sources
            )
        return tuple(settled.values())

    def of(
        self, kind: type[_Kind], submission: str, person: Author
    ) -> Iterator[tuple[_Kind, DecisionTarget]]:
        """Yields the decisions of a kind about a person, with what they are about."""
        places: list[int] = []
        for whom in whoms(submission, person):
            places += self._about.get(whom, ())
        for one in (self.aimed[place] for place in sorted(places)):
            if isinstance(one.decision, kind):
                yield one.decision, one.target

    def allowance(self, submission: str, person: Author) -> LateAllowance:
        """Returns a person's late allowance: an extension of a group's member is the group's."""
        group = (person, *self.people.get(submission, ()))
        extensions = [one for own in group for one, _ in self.of(Extension, submission, own)]
        moments = [one.until for one in extensions if one.until is not None]
        local = self.rule.local if self.rule else _with_some_zone
        left = [one.left for one, _ in self.of(LateDays, submission, person)]
        return LateAllowance(
            until=max(moments, key=local, default=None),
            more_days=max((one.days for one in extensions if one.days is not None), default=0),
            free_days=left[-1] if left else None,
            extensions=tuple({one.source: one for one in extensions}.values()),
        )

    def excused(self, person: Author) -> str:
        """Returns why somebody who handed in nothing need not have, with its source.

        Returns nothing if not.
        """
        found = (one for one, target in self.of(Excused, "", person) if not target.exercise)
        return "; ".join(f"excused: {one.reason or '-'} ({one.source})" for one in found)

    def comments(self, submission: str, person: Author) -> tuple[str, ...]:
        """Returns the words to a person."""
        return tuple(one.text for one, _ in self.of(Comment, submission, person))


def _with_some_zone(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def common(settled: tuple[Settlement, ...]) -> Settlement | None:
    """Returns what all settlements of a submission have in common; None if there are none."""
    if len(settled) < 2:
        return settled[0] if settled else None
    first = settled[0]
    shared = tuple(c for c in first.changes if all(c in own.changes for own in settled))
    return replace(
        first,
        people=tuple(person for own in settled for person in own.people),
        changes=shared,
        comments=tuple(c for c in first.comments if all(c in own.comments for own in settled)),
        excused=all(own.excused for own in settled),
        sources=frozenset.union(*(own.sources for own in settled)),
    )
