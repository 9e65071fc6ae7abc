"""What a person gets in the end: the machine's points, each change of them, and the sum.

Sums are of whole hundredths: whoever adds up the changes gets the final points, to the last digit.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.core.points import points_of, shared_out
from grader.core.submission import Author
from grader.core.verdict import GradeStatus


class ChangeKind(enum.StrEnum):
    """Why points changed, in the order in which changes are made."""

    CARRIED = "carried"
    TAKEN_OUT = "taken out"
    DECIDED = "decided"
    EXCUSED = "excused"
    LATE = "lateness"


@dataclass(frozen=True, slots=True)
class PointsChange:
    """So many hundredths more or fewer, in an exercise or as a whole, for a reason.

    `sentence` is for students; `source` is the rule, or the file and line of the decision.
    """

    kind: ChangeKind
    hundredths: int
    exercise: str | None
    sentence: str
    source: str

    @property
    def points(self) -> float:
        """The change in points."""
        return points_of(self.hundredths)

    @property
    def is_everybodys(self) -> bool:
        """Whether it only says what counts for nobody: no points of this person change by it."""
        return self.kind is ChangeKind.TAKEN_OUT and not self.hundredths


@dataclass(frozen=True, slots=True)
class ExercisePoints:
    """What an exercise is worth, and what the tests and all of its own changes give; hundredths."""

    machine: int
    final: int
    worth: int


@dataclass(frozen=True, slots=True)
class Settlement:
    """What some people get for a submission; those of a group may get different points.

    `machine` are the hundredths that the tests gave, none if they gave none: not all were judged.
    `undecided` says what somebody has to decide about its lateness; `excused` people get neither
    points nor a zero. `sources` are all decisions that name them or their submission, with those
    that changed no points; `timed_by` is the one that told when this was handed in, if one did.
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
        """Whether there is a number: the machine's, or one that was decided."""
        whole = (change for change in self.changes if change.exercise is None)
        is_decided = any(change.kind is ChangeKind.DECIDED for change in whole)
        return not self.excused and (self.machine is not None or is_decided)

    @property
    def hundredths(self) -> int:
        """The final points, as a whole number of hundredths."""
        return (self.machine or 0) + sum(change.hundredths for change in self.changes)

    @property
    def final(self) -> float | None:
        """The final points; None if there are none to give."""
        return points_of(self.hundredths) if self.has_points else None

    def of_kind(self, kind: ChangeKind) -> int:
        """The hundredths of all changes of a kind."""
        return sum(change.hundredths for change in self.changes if change.kind is kind)

    def by_exercise(self) -> dict[str, int]:
        """The final hundredths in parts that add up to them: one for each exercise.

        What was changed as a whole is shared out among the exercises by their points.
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
        """Every change as students read it: "+2 points in run_rope: the docstring was wrong"."""
        return (in_words(change) for change in self.changes)


def in_words(change: PointsChange) -> str:
    """A change with its points, where it changes any, and its exercise."""
    place = f" in {change.exercise}" if change.exercise else ""
    if not change.hundredths:
        return f"{change.exercise}: {change.sentence}" if change.exercise else change.sentence
    number = f"{abs(change.points):.10g}"
    sign, noun = "+" if change.hundredths > 0 else "−", "point" if number == "1" else "points"
    return f"{sign}{number} {noun}{place}: {change.sentence}"
