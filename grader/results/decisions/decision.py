"""Decisions of an instructor about grades; each knows its line in the file."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from grader.core.text import Refusal

EVERYBODY = "everybody"
Moment = datetime.datetime


class BadDecisions(Refusal):
    """The decisions cannot be used; the text says of each line that is wrong why, on its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Any decision: where it stands, why, by whom and when, as far as that was written down.

    `kind` is the name of its table, `file` and `line` are where that begins.
    """

    kind: str
    file: str
    line: int
    reason: str = ""
    who: str = ""
    when: Moment | None = None

    @property
    def source(self) -> str:
        """Returns where it stands: "decisions.toml:12"."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsChanged(Decision):
    """Points of a person, or of everybody: in a test, an exercise or as a whole.

    They become so many hundredths (`to`), or so many more or fewer (`by`).
    """

    person: str
    exercise: str = ""
    test: str = ""
    to: int | None = None
    by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Decision):
    """A few words to a student."""

    person: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Excused(Decision):
    """A person need not have done an exercise, or any of them if none is named."""

    person: str
    exercise: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(Decision):
    """A person may hand in later: until a moment, or so many days longer.

    A moment without a time zone is meant in the assignment's.
    """

    person: str
    until: Moment | None = None
    days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOut(Decision):
    """A test or exercise does not count for anybody; as a `bonus`, it counts for who has it."""

    exercise: str = ""
    test: str = ""
    bonus: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenInstead(Decision):
    """A person gets the grade of a submission, and of no other one."""

    person: str
    submission: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose(Decision):
    """An instructor says whose a submission is."""

    submission: str
    person: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LateDays(Decision):
    """The number of free late days that a person has left."""

    person: str
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HandInTime(Decision):
    """When a person handed in, where no platform told or another time counts."""

    person: str
    at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(Decision):
    """A table of when people handed in, in a file beside the decisions."""

    table: str


OfAPerson = (
    PointsChanged | Comment | Excused | Extension | TakenInstead | Whose | LateDays | HandInTime
)
_Kind = TypeVar("_Kind", bound=Decision)


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions, in the order in which they are written: later ones are taken after others."""

    all: tuple[Decision, ...] = ()

    def of(self, kind: type[_Kind]) -> Iterator[_Kind]:
        """Returns the decisions of a kind."""
        return (one for one in self.all if isinstance(one, kind))
