"""The form of each table of `decisions.toml`, and the faults of a table that breaks it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.core.assignment import meant
from grader.core.points import hundredths
from grader.results.decisions.decision import (
    Comment,
    Decision,
    Excused,
    Extension,
    HandInTime,
    LateDays,
    PointsChanged,
    TakenInstead,
    TakenOut,
    Times,
    Whose,
)

_OF_ALL = ("reason", "who", "when")


@dataclass(frozen=True, slots=True)
class TableForm:
    """The keys of a table: those that it needs, of each group exactly or at most one, others.

    `made` makes the decision of what is written.
    """

    made: Callable[..., Decision]
    needed: tuple[str, ...]
    exactly_one: tuple[str, ...] = ()
    at_most_one: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Returns every key that the table may have, in the order in which they are written."""
        own = (*self.needed, *self.at_most_one, *self.exactly_one)
        return tuple(dict.fromkeys((*own, *_OF_ALL)))


def _bonus(**fields: Any) -> Decision:
    return TakenOut(**fields, bonus=True)


FORMS: Mapping[str, TableForm] = {
    "points": TableForm(PointsChanged, ("person", "reason"), ("to", "by"), ("test", "exercise")),
    "comment": TableForm(Comment, ("person", "text")),
    "excused": TableForm(Excused, ("person",), at_most_one=("exercise",)),
    "extension": TableForm(Extension, ("person",), ("until", "days")),
    "taken_out": TableForm(TakenOut, ("reason",), ("test", "exercise")),
    "bonus": TableForm(_bonus, ("reason",), ("test", "exercise")),
    "taken_instead": TableForm(TakenInstead, ("person", "submission")),
    "whose": TableForm(Whose, ("submission", "person")),
    "late_days": TableForm(LateDays, ("person", "left")),
    "handed_in": TableForm(HandInTime, ("person", "at")),
    "times": TableForm(Times, ("table",)),
}


def decision_of(kind: str, table: Mapping[str, Any], file: str, line: int) -> Decision:
    """Returns the decision of a table without complaints."""
    fields = dict(table)
    for key in ("to", "by"):
        if key in fields:
            fields[key] = hundredths(fields[key])
    return FORMS[kind].made(kind=kind, file=file, line=line, **fields)


def complaints(kind: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields each fault of a table: its key, or "" if it has none, and a sentence."""
    if kind not in FORMS:
        yield "", f"nothing is decided by [[{kind}]]: {meant(kind, FORMS)}"
        return
    form = FORMS[kind]
    for key, value in table.items():
        if key not in form.keys:
            yield key, f"[[{kind}]] knows no {key!r}: {meant(key, form.keys)}"
        elif wrong := _WANTED[key](value):
            yield key, f"{key} must be {wrong}, not {_shown(value)}"
    for key in form.needed:
        if key not in table:
            yield "", f"[[{kind}]] lacks {key!r}{_WHY.get(key, '')}"
    given = [key for key in form.exactly_one if key in table]
    if form.exactly_one and len(given) != 1:
        there = "both are there" if given else "neither is there"
        yield (given or [""])[0], f"[[{kind}]] needs {' or '.join(form.exactly_one)}: {there}"
    others = [key for key in form.at_most_one if key in table]
    if len(others) > 1:
        yield others[0], f"[[{kind}]] is of a {' or an '.join(form.at_most_one)}, not of both"


_WHY = {
    "reason": ", which students read",
    "person": ": a submission's name, or a person's name, id or e-mail address",
}


def _shown(value: object) -> str:
    return f"{value:%Y-%m-%d}" if isinstance(value, datetime.date) else repr(value)[:80]


def _text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "text in quotes"


def _points(value: object) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(str(value))) or abs(float(str(value))) > 1e9:
        return "a number of points"
    return "" if float(str(value)) == round(float(str(value)), 2) else "whole hundredths of a point"


def _points_at_least_0(value: object) -> str:
    return _points(value) or ("0 or more" if float(str(value)) < 0 else "")


def _count(value: object) -> str:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10_000
    return "" if is_count else "a whole number of days"


def _moment(value: object) -> str:
    is_moment = isinstance(value, datetime.datetime)
    return "" if is_moment else "a date with a time, as 2026-10-03T23:59:00"


_WANTED: Mapping[str, Callable[[object], str]] = {
    **dict.fromkeys(
        ("person", "reason", "who", "text", "exercise", "test", "submission", "table"), _text
    ),
    **dict.fromkeys(("when", "until", "at"), _moment),
    **dict.fromkeys(("days", "left"), _count),
    "to": _points_at_least_0,
    "by": _points,
}
