"""Final points of a person: the tests' points, each change of them, lateness.

Sums are of whole hundredths, so that the tests' points and the changes add up exactly to the final
points.
"""

from __future__ import annotations

import datetime
import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.core.late_rule import LateRule
from grader.core.points import hundredths, points_of, shared_out
from grader.core.submission import Author
from grader.core.text import enumerated, gained_in_words
from grader.core.verdict import GradeStatus
from grader.results.decisions.decision import Decision

RULE = "[tool.grader.late]"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LateAllowance:
    """A later due date for a person, and days that cost nothing.

    `extensions` are the decisions behind it.
    """

    until: datetime.datetime | None = None
    more_days: int = 0
    free_days: int | None = None
    extensions: tuple[Decision, ...] = ()

    @property
    def extends(self) -> bool:
        """Returns whether the due date is extended."""
        return self.until is not None or bool(self.more_days)


@dataclass(frozen=True, slots=True)
class Lateness:
    """The result of the late rule: `late` after grace and extension, the cost, and the reason.

    `cost` is in hundredths. `undecided` says which facts are unknown, so that an instructor has to
    decide.
    """

    late: bool
    cost: int = 0
    sentence: str = ""
    undecided: str = ""


def lateness(
    rule: LateRule | None,
    handed_in: datetime.datetime | None,
    marked: bool,
    allowance: LateAllowance,
    reached: int,
    possible: int,
) -> Lateness:
    """Applies the late rule to a submission that a platform `marked` late or not.

    `reached` and `possible` are the hundredths without the rule.
    """
    if rule is None:
        why = f"marked late by the platform, and there is no {RULE}" if marked else ""
        return Lateness(marked and not allowance.extends, undecided=why)
    if handed_in is None:
        if not marked or allowance.extends:
            return Lateness(False)
        return Lateness(True, undecided="marked late by the platform, which tells no time")
    at, due = rule.local(handed_in), _due(rule, allowance)
    if not _is_after(at, due + datetime.timedelta(minutes=rule.grace)):
        return Lateness(False)
    days = _started_days(due, at)
    when = f"handed in on {_written(at)}, day {days} after the due date ({_written(due)})"
    last = _last(rule, allowance)
    if last is not None and _is_after(at, last):
        return Lateness(True, reached, f"{when}, and after the last day ({_written(last)})")
    free = rule.days if allowance.free_days is None else allowance.free_days
    spent = min(days, free)
    paid = days - spent
    cost, how = _cost(rule, paid, reached, possible)
    free_days = [f"free days spent: {spent} of {free}"] if spent else []
    rest = [f"for the rest {how}" if spent else how] if paid else []
    return Lateness(True, cost, f"{when}: {'; '.join([*free_days, *rest])}")


def more_time(rule: LateRule | None, allowance: LateAllowance) -> str:
    """Returns the sentence that a person has more time, and until when."""
    until = f", until {_written(_due(rule, allowance))}" if rule else ""
    return f"there was more time{until}"


def _cost(rule: LateRule, days: int, reached: int, possible: int) -> tuple[int, str]:
    """Returns the cost of late days in hundredths, at most all points, and how it was counted."""
    if rule.points:
        exact = Fraction(hundredths(rule.points) * days)
    else:
        share = Fraction(round(100 * rule.percent), 10_000)
        exact = min(share * days, Fraction(1)) * (possible if rule.of == "possible" else reached)
    is_free = not (rule.points or rule.percent)
    how = "no points are taken off for that" if is_free else rule.price
    return min(max(math.floor(exact + Fraction(1, 2)), 0), max(reached, 0)), how


def _due(rule: LateRule, allowance: LateAllowance) -> datetime.datetime:
    """Returns a person's due date in the assignment's zone; days keep the time of day."""
    due = rule.local(rule.due)
    extended = due if allowance.until is None else max(due, rule.local(allowance.until))
    return extended + allowance.more_days * _DAY


def _last(rule: LateRule, allowance: LateAllowance) -> datetime.datetime | None:
    """Returns a person's last moment, which an extension moves together with the due date."""
    if rule.last is None:
        return None
    moved = _due(rule, allowance).replace(tzinfo=None) - rule.local(rule.due).replace(tzinfo=None)
    return rule.local(rule.last) + moved


def _started_days(due: datetime.datetime, at: datetime.datetime) -> int:
    """Returns how many days began after the due date.

    With a change of clocks, a day may have 23 or 25 hours.
    """
    days = max((at - due) // _DAY - 1, 0)
    while _is_after(at, due + days * _DAY):
        days += 1
    return days


def _is_after(one: datetime.datetime, other: datetime.datetime) -> bool:
    """Returns whether a moment is later; clocks show one hour twice, so timestamps decide."""
    return one.timestamp() > other.timestamp()


def _written(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}"


class ChangeKind(enum.StrEnum):
    """The reason of a change of points, in the order in which changes are made."""

    CARRIED = "carried"
    TAKEN_OUT = "taken out"
    DECIDED = "decided"
    EXCUSED = "excused"
    LATE = "lateness"


@dataclass(frozen=True, slots=True)
class PointsChange:
    """A change of points in hundredths, of an exercise or of the whole, with its reason.

    `sentence` is for students; `source` is the rule, or the file and line of the decision.
    `is_full` is whether the exercise has all its points after the change.
    """

    kind: ChangeKind
    hundredths: int
    exercise: str | None
    sentence: str
    source: str
    is_full: bool = False

    @property
    def points(self) -> float:
        """Returns the change in points."""
        return points_of(self.hundredths)

    @property
    def is_everybodys(self) -> bool:
        """Returns whether the change only drops a test for the whole class, without points here."""
        return self.kind is ChangeKind.TAKEN_OUT and not self.hundredths


@dataclass(frozen=True, slots=True)
class ExercisePoints:
    """An exercise's worth, its points from tests, and its points after all changes; hundredths.

    If its points are not among the possible ones, `apart` says why: "bonus" or "taken out".
    """

    machine: int
    final: int
    worth: int
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The final points of people for a submission; members of a group may have different ones.

    `machine` are the hundredths of the tests, or None if not all tests were judged. `undecided`
    says which part of the lateness an instructor has to decide. People who are `excused` get
    neither points nor a zero. `sources` are all decisions that name the people or the submission,
    also those that changed no points. `timed_by` is the decision that set the time of handing in,
    if one did.
    """

    submission: str
    people: tuple[Author, ...]
    status: GradeStatus
    late: bool
    machine: int | None
    worth: int
    exercises: Mapping[str, ExercisePoints]
    changes: tuple[PointsChange, ...] = ()
    comments: tuple[str, ...] = ()
    excused: bool = False
    undecided: str = ""
    sources: frozenset[str] = frozenset()
    timed_by: str = ""

    @property
    def has_points(self) -> bool:
        """Returns whether there are points: the tests' points, or points that were decided."""
        whole = (change for change in self.changes if change.exercise is None)
        is_decided = any(change.kind is ChangeKind.DECIDED for change in whole)
        return not self.excused and (self.machine is not None or is_decided)

    @property
    def hundredths(self) -> int:
        """Returns the final points, as a whole number of hundredths."""
        return (self.machine or 0) + sum(change.hundredths for change in self.changes)

    @property
    def final(self) -> float | None:
        """Returns the final points; None if there are none to give."""
        return points_of(self.hundredths) if self.has_points else None

    def of_kind(self, kind: ChangeKind) -> int:
        """Returns the hundredths of all changes of a kind."""
        return sum(change.hundredths for change in self.changes if change.kind is kind)

    @property
    def decided(self) -> frozenset[str]:
        """Returns the exercises in which decisions changed what tests cost."""
        new = (change for change in self.changes if change.kind is not ChangeKind.CARRIED)
        return frozenset(change.exercise for change in new if change.exercise)

    def by_exercise(self) -> dict[str, int]:
        """Returns the final hundredths in parts that add up to them, one for each exercise.

        Changes of the whole are divided among the exercises in proportion to their points.
        """
        parts = {name: each.final for name, each in self.exercises.items()}
        rest = self.hundredths - sum(parts.values())
        weights = [*parts.values()]
        if not any(weights):
            weights = [each.worth for each in self.exercises.values()]
        if not rest or not any(weights):
            return parts
        sign = 1 if rest > 0 else -1
        shares = shared_out(abs(rest), weights)
        return {
            name: part + sign * share
            for (name, part), share in zip(parts.items(), shares, strict=True)
        }

    def sentences(self) -> Iterator[str]:
        """Yields every change as students read it: "+2 points in run_rope: a wrong docstring".

        Exercises with the same error share a sentence.
        """
        alike: dict[object, list[PointsChange]] = {}
        for change in self.changes:
            is_carried = change.kind is ChangeKind.CARRIED and change.is_full
            alike.setdefault(change.sentence if is_carried else id(change), []).append(change)
        for first, *others in alike.values():
            yield _together([first, *others]) if others else in_words(first)


def _together(changes: Sequence[PointsChange]) -> str:
    names = enumerated([str(change.exercise) for change in changes])
    gained = gained_in_words(points_of(sum(change.hundredths for change in changes)), True)
    why = changes[0].sentence.replace("Its ", "Their ", 1)
    return f"{names}: {gained}. {why}"


def in_words(change: PointsChange) -> str:
    """Returns a change as a sentence with its points, if it changes any, and its exercise."""
    place = f" in {change.exercise}" if change.exercise else ""
    if not change.hundredths:
        return f"{change.exercise}: {change.sentence}" if change.exercise else change.sentence
    if change.kind is ChangeKind.CARRIED:
        gained = gained_in_words(change.points, change.is_full)
        return f"{change.exercise}: {gained}. {change.sentence}"
    number = f"{abs(change.points):.10g}"
    sign, noun = "+" if change.hundredths > 0 else "−", "point" if number == "1" else "points"
    return f"{sign}{number} {noun}{place}: {change.sentence}"
