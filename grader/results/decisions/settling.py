"""Settling: computes each person's points from the tests' points, by decisions and rules.

It also lists the effects of a decision: whose points it changed, and who reads its comment.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from grader.core.late_rule import LateRule
from grader.core.names import natural_order
from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.verdict import Grade
from grader.results.decisions.decision import Decision, DecisionKind, ways_to_mean
from grader.results.decisions.file import FORMS
from grader.results.decisions.person import PersonsPoints
from grader.results.decisions.settlement import ChangeKind, LateAllowance, Settlement, in_words
from grader.results.results import Results


@dataclass(frozen=True, slots=True)
class Settling:
    """Settles the grades of a class; its fields are all other data that this takes.

    `people` are those that each submission counts for, or none if another one was taken instead.
    `handed_in` are those who handed it in, by the decisions, if they are known. `absentees` are
    those of the class who handed in nothing: a submission that only seemed to be theirs does not
    count. `marked` are the submissions that a platform called late. `times` are the known times of
    handing in, and `timed_by` the places of the decisions that set them.

    `taken` are the places of decisions that say whose a submission is, or that it counts in place
    of another. Decisions that a later one replaces are left out. `unsure` says why the owner of
    some submissions is not certain, until a decision settles it.
    """

    decisions: tuple[Decision, ...]
    rule: LateRule | None
    people: Mapping[str, tuple[Author, ...]]
    absentees: tuple[Author, ...]
    marked: frozenset[str]
    times: Mapping[str, datetime.datetime]
    timed_by: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)
    handed_in: Mapping[str, tuple[Author, ...]] = field(default_factory=dict)

    @property
    def untimed(self) -> tuple[str, ...]:
        """Returns the submissions that the late rule takes as in time, since no time is known.

        There are none if the platform marked others as late.
        """
        if self.rule is None or self.marked:
            return ()
        counts = {name for name, own in self.people.items() if own}
        return tuple(sorted(counts - self.times.keys(), key=natural_order))

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

    def of(self, submission: str, person: Author, *kinds: DecisionKind) -> Iterator[Decision]:
        """Yields the decisions about a person, of some kinds or of all."""
        about = {*ways_to_mean(submission, person)}
        for one in self.decisions:
            if one.kind in (kinds or DecisionKind) and one.whom in about:
                yield one

    def allowance(self, submission: str, person: Author) -> LateAllowance:
        """Returns a person's late allowance; an extension of one member is the whole group's."""
        group = (person, *self.people.get(submission, ()))
        extensions = [
            one for own in group for one in self.of(submission, own, DecisionKind.EXTENSION)
        ]
        moments = [one.until for one in extensions if one.until is not None]
        local = self.rule.local if self.rule else _with_some_zone
        left = [one.left for one in self.of(submission, person, DecisionKind.LATE_DAYS)]
        return LateAllowance(
            until=max(moments, key=local, default=None),
            more_days=max((one.days or 0 for one in extensions), default=0),
            free_days=left[-1] if left else None,
            extensions=tuple({one.source: one for one in extensions}.values()),
        )

    def excused(self, person: Author) -> str:
        """Returns why a person without a submission is excused, with the source; "" if not."""
        found = (one for one in self.of("", person, DecisionKind.EXCUSED) if not one.target)
        return "; ".join(f"excused: {one.reason or '-'} ({one.source})" for one in found)

    def comments(self, submission: str, person: Author) -> tuple[str, ...]:
        """Returns the comments for a person."""
        return tuple(one.text for one in self.of(submission, person, DecisionKind.COMMENT))


def _with_some_zone(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


_LISTED = 6
# Kinds that matter to a person's points only if something was late.
_OF_A_HAND_IN = (DecisionKind.TAKEN_INSTEAD, DecisionKind.WHOSE, DecisionKind.TIMES)


@dataclass(slots=True)
class Effect:
    """A decision, and a line for each person that it affects."""

    decision: Decision
    lines: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Returns the decision in a line: "points: alice, run_rope, to 2: a typo (mm)"."""
        decision = self.decision
        said = [(key, getattr(decision, key)) for key in FORMS[decision.kind].own]
        parts = [_value(key, value) for key, value in said if value is not None and value != ""]
        by = f" ({decision.who})" if decision.who else ""
        return f"{decision.kind}: {', '.join(parts)}{decision.because}{by}"

    def in_short(self) -> list[str]:
        """Returns the first lines, and a line that counts the others."""
        more = len(self.lines) - _LISTED
        short = [*self.lines[:_LISTED], *[f"and {more} more"] * (more > 0)]
        return short or ["changes nobody's points"]


def effects(results: Results, settling: Settling) -> list[Effect]:
    """Returns every decision with its effects, in the order of the file."""
    found: dict[str, Effect] = {}
    counting = frozenset[str]().union(*settling.taken.values())
    for one in settling.decisions:
        effect = found.setdefault(one.source, Effect(one))
        who = one.whom.author.called if one.whom.author else one.person
        if one.source in counting and one.kind is DecisionKind.TAKEN_INSTEAD:
            effect.lines = [f"{who}: gets the grade of {one.submission} and of no other"]
        if one.source in counting and one.kind is DecisionKind.WHOSE:
            effect.lines = [f"{who}: handed in {one.submission}"]
    for person in settling.absentees:
        for decision in settling.of("", person, DecisionKind.EXCUSED):
            found[decision.source].lines.append(f"{person.called}: excused, handed in nothing")
    for grade in results.grades() if found else ():
        for own in settling.settle(grade):
            _add(found, own)
    return [*found.values()]


def _add(found: dict[str, Effect], own: Settlement) -> None:
    who, final = ", ".join(person.called for person in own.people), _final(own)
    for change in own.changes:
        effect = found.get(change.source)
        if effect is not None and (change.hundredths or change.source in own.sources):
            said = [in_words(change), *([] if own.excused else [final])]
            effect.lines.append(f"{who}: {'; '.join(said)}")
    silent = own.sources | ({own.timed_by} if own.timed_by else set())
    for source in sorted(silent - {change.source for change in own.changes}):
        effect = found[source]
        if effect.decision.kind is DecisionKind.COMMENT:
            effect.lines.append(f"{who}: reads it")
        elif own.late or effect.decision.kind not in _OF_A_HAND_IN:
            effect.lines.append(f"{who}: {final}")


def _final(own: Settlement) -> str:
    if own.excused:
        return "excused"
    if own.final is None:
        return "not graded"
    late = own.of_kind(ChangeKind.LATE)
    days = f" after {points_of(-late):.10g} were taken off for being late" if late else ""
    return f"{own.final:.10g} {'point' if own.final == 1 else 'points'}{days}"


def _value(key: str, value: object) -> str:
    if key in ("to", "by"):
        number = points_of(int(str(value)))
        return f"to {number:.10g}" if key == "to" else f"by {number:+.10g}"
    return str(value) if key in ("person", "exercise", "test", "text") else f"{key} {value}"
