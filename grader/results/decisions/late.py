"""What handing in late costs one person, and why, in a sentence."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction

from grader.core.late_rule import LateRule
from grader.core.points import hundredths
from grader.results.decisions.decision import Extension

RULE = "[tool.grader.late]"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class HandingIn:
    """When something was handed in, if that is known, and whether a platform called it late."""

    at: datetime.datetime | None
    marked: bool


@dataclass(frozen=True, slots=True)
class LateAllowance:
    """What a person is allowed beyond others: a later due date, and days that cost nothing.

    `extensions` are the decisions that it follows from.
    """

    until: datetime.datetime | None = None
    more_days: int = 0
    free_days: int | None = None
    extensions: tuple[Extension, ...] = ()

    @property
    def extends(self) -> bool:
        """Whether the due date is another one."""
        return self.until is not None or bool(self.more_days)


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late something is: `late` at all, after grace and extension; what it costs, and why.

    `cost` is in hundredths; `undecided` says what is not known, and so is for somebody to decide.
    """

    late: bool
    cost: int = 0
    sentence: str = ""
    undecided: str = ""


def lateness(
    rule: LateRule | None,
    handing_in: HandingIn,
    allowance: LateAllowance,
    reached: int,
    possible: int,
) -> Lateness:
    """What the rule says; `reached` and `possible` are the hundredths without it."""
    if rule is None:
        why = f"marked late by the platform, and there is no {RULE}" if handing_in.marked else ""
        return Lateness(handing_in.marked and not allowance.extends, undecided=why)
    if handing_in.at is None:
        if not handing_in.marked or allowance.extends:
            return Lateness(False)
        return Lateness(True, undecided="marked late by the platform, which tells no time")
    at, due = rule.local(handing_in.at), _due(rule, allowance)
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
    return Lateness(True, cost, f"{when}: {_spending(spent, free, paid)}{how if paid else ''}")


def more_time(rule: LateRule | None, allowance: LateAllowance) -> str:
    """That somebody may hand in later, and until when."""
    until = f", until {_written(_due(rule, allowance))}" if rule else ""
    return f"there was more time{until}"


def _spending(spent: int, free: int, paid: int) -> str:
    if not spent:
        return ""
    days = f"free days spent: {spent} of {free}"
    return f"{days}; for the rest " if paid else days


def _cost(rule: LateRule, days: int, reached: int, possible: int) -> tuple[int, str]:
    """So many hundredths for so many days, never more than there are, and how that is counted."""
    if rule.points:
        exact = Fraction(hundredths(rule.points) * days)
        how = f"{rule.points:g} {'point' if rule.points == 1 else 'points'} a day"
    else:
        share = Fraction(round(100 * rule.percent), 10_000)
        exact = min(share * days, Fraction(1)) * (possible if rule.of == "possible" else reached)
        what = "possible points" if rule.of == "possible" else "points reached"
        how = f"{rule.percent:g} % of the {what} a day"
    if not (rule.points or rule.percent):
        how = "no points are taken off for that"
    return min(max(math.floor(exact + Fraction(1, 2)), 0), max(reached, 0)), how


def _due(rule: LateRule, allowance: LateAllowance) -> datetime.datetime:
    """The due date of a person, on the assignment's clock: a day later is the same hour."""
    due = rule.local(rule.due)
    extended = due if allowance.until is None else max(due, rule.local(allowance.until))
    return extended + allowance.more_days * _DAY


def _last(rule: LateRule, allowance: LateAllowance) -> datetime.datetime | None:
    """The last moment of a person: an extension moves it by as much as the due date."""
    if rule.last is None:
        return None
    moved = _due(rule, allowance).replace(tzinfo=None) - rule.local(rule.due).replace(tzinfo=None)
    return rule.local(rule.last) + moved


def _started_days(due: datetime.datetime, at: datetime.datetime) -> int:
    """How many days have begun since; with the clocks, a day may have 23 hours or 25."""
    days = max((at - due) // _DAY - 1, 0)
    while _is_after(at, due + days * _DAY):
        days += 1
    return days


def _is_after(one: datetime.datetime, other: datetime.datetime) -> bool:
    """Whether a moment is later: clocks alone do not tell in the hour that comes twice."""
    return one.timestamp() > other.timestamp()


def _written(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}"
