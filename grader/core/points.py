"""Points as whole hundredths, so that sums are exact and parts add up to the whole.

Elsewhere points are numbers with at most two decimals; all code that adds or divides them uses this
module. `[tool.grader.late]` is the rule for late submissions.
"""

from __future__ import annotations

import datetime
import functools
import math
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from grader.core.text import PlainData

OF_THE_VALUES = "of the points for this exercise's values are earned"
WITH_VALUES = "The other tests of an exercise count only as far as its values are right."
_IN_WORDS = {0: "none", 50: "half"}  # by percent


@functools.lru_cache(maxsize=4096)
def hundredths(points: float) -> int:
    """Returns points as a whole number of hundredths."""
    return round(100 * points)


def points_of(number: int) -> float:
    """Returns a number of hundredths as points, with at most two decimals."""
    return number / 100


def total(points: Iterable[float]) -> float:
    """Returns the exact sum of points."""
    return points_of(sum(map(hundredths, points)))


def shared_out(whole: int, weights: Sequence[float | Fraction]) -> list[int]:
    """Divides a whole in proportion to the weights, and rounds the largest remainders up.

    Among equal remainders, the first are rounded up. The weights are finite and not negative, and
    at least one is positive.
    """
    exact = [Fraction(weight) for weight in weights]
    everything = sum(exact)
    return _rounded(whole, [whole * weight / everything for weight in exact])


def scaled(parts: Sequence[tuple[float, float]], most: float | None) -> list[tuple[float, float]]:
    """Returns pairs of points and possible points, scaled so that the whole is worth `most`.

    The possible points add up to `most`. Full points stay full, and 0 points stay 0. If `most` is
    None, the points stay as they are.
    """
    possible = [hundredths(possible) for _, possible in parts]
    if most is None or not sum(possible):
        return [(total([got]), total([of])) for got, of in parts]
    worth = shared_out(hundredths(most), possible)
    exact = [
        Fraction(hundredths(got) * new, of) if of else Fraction(0)
        for (got, _), of, new in zip(parts, possible, worth, strict=True)
    ]
    earned = _rounded(math.floor(sum(exact) + Fraction(1, 2)), exact)
    return [(points_of(got), points_of(of)) for got, of in zip(earned, worth, strict=True)]


@dataclass(slots=True)
class Gate:
    """The rule that other points of an exercise count only in proportion to its right values.

    Tests of values are added first. Rounding makes the sum of several tests exact to the hundredth,
    but not each test. If the tests of values carry no points, their number counts.
    """

    right: int = 0
    _possible: int = 0
    _passed: int = 0
    _tests: int = 0
    _earned: int = 0

    def add_values(self, right: int, possible: int, passed: bool) -> None:
        """Adds a test of values: the hundredths that it earned, and those that it carries."""
        self.right += right
        self._possible += possible
        self._passed += passed
        self._tests += 1

    @property
    def share(self) -> Fraction:
        """Returns the share of the values that is right, or 1 if no test is about values."""
        if self._possible:
            return Fraction(self.right, self._possible)
        return Fraction(self._passed, self._tests) if self._tests else Fraction(1)

    @property
    def remark(self) -> str:
        """Returns the remark on a test that passed and counts less."""
        percent = min(max(round(100 * self.share), 1), 99) if self.share else 0
        part = _IN_WORDS.get(percent, f"{percent}%")
        return f"earns {part} of its points, because {part} {OF_THE_VALUES}"

    def counted(self, earned: int) -> int:
        """Returns how many of a test's `earned` hundredths count; the test is of another aspect."""
        before = self.counted_of(self._earned)
        self._earned += earned
        return self.counted_of(self._earned) - before

    def counted_of(self, earned: int) -> int:
        """Returns how many hundredths count of those that tests of other aspects earned."""
        return math.floor(earned * self.share)


def _rounded(whole: int, exact: Sequence[Fraction]) -> list[int]:
    """Returns whole numbers nearest to the exact ones that add up to `whole`."""
    parts = [math.floor(number) for number in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: parts[place] - exact[place])
    for place in by_remainder[: whole - sum(parts)]:
        parts[place] += 1
    return parts


@dataclass(frozen=True, slots=True)
class CourseWorth:
    """The hundredths that all public tests carry, and those of the whole assignment."""

    public: int
    in_all: int


_KEYS = ("due", "zone", "grace", "points", "percent", "of", "last", "days")
_OF = ("reached", "possible")
# From these years, time zones and late days lead to no date beyond those that Python knows.
YEARS = range(100, 9900)


class BadRule(Exception):
    """A table that is not a late rule; the text says why."""


@dataclass(frozen=True, slots=True)
class LateRule(PlainData):
    """The rule that says how many points a late submission costs.

    `due` and `last` are moments as written in the table; those without an offset are in `zone`.
    `grace` is in minutes. Each started day costs `points`, or `percent` of the points that are
    `reached` or `possible`, whichever `of` says. After `last` a submission gets no points. Each
    person has `days` that cost nothing.
    """

    due: datetime.datetime
    zone: str = ""
    grace: int = 0
    points: float = 0.0
    percent: float = 0.0
    of: str = "reached"
    last: datetime.datetime | None = None
    days: int = 0

    def local(self, moment: datetime.datetime) -> datetime.datetime:
        """Returns a moment in the assignment's time zone, which is also the default zone."""
        zone = zoneinfo.ZoneInfo(self.zone) if self.zone else self.due.tzinfo
        return moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)


def read_rule(table: object) -> LateRule:
    """Returns the rule of a table.

    Raises:
        BadRule: if the table is not a late rule.
    """
    if not isinstance(table, dict):
        raise BadRule("must be a table, with the date when the assignment is due")
    unknown = sorted(set(table) - {*_KEYS})
    if unknown:
        raise BadRule(f"knows no {unknown[0]!r}: there is {', '.join(_KEYS)}")
    zone = _zone(table.get("zone", ""))
    due = _moment(table, "due", zone)
    last = _moment(table, "last", zone) if "last" in table else None
    of = table.get("of", "reached")
    if of not in _OF:
        raise BadRule(f"of must be {' or '.join(map(repr, _OF))}, not {of!r}")
    if "points" in table and "percent" in table:
        raise BadRule("takes points or percent a day, not both")
    rule = LateRule(
        due=due,
        zone=zone,
        grace=_whole(table, "grace", "minutes"),
        points=_number(table, "points"),
        percent=_number(table, "percent"),
        of=of,
        last=last,
        days=_whole(table, "days", "days"),
    )
    if rule.percent > 100:
        raise BadRule(f"percent must be 0 to 100 a day, not {rule.percent:g}")
    if last is not None and rule.local(last) < rule.local(due):
        raise BadRule("last lies before due")
    return rule


def _zone(name: object) -> str:
    if name == "":
        return ""
    try:
        return zoneinfo.ZoneInfo(str(name)).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadRule(f'zone must be a name such as "Europe/Zurich", not {name!r}') from error


def _moment(table: Mapping[str, Any], key: str, zone: str) -> datetime.datetime:
    moment = table.get(key)
    if not isinstance(moment, datetime.datetime):
        given = "it is missing" if moment is None else f"not {moment!s}"
        raise BadRule(f"{key} must be a date with a time, as 2026-10-03T23:59:00: {given}")
    if moment.year not in YEARS:
        raise BadRule(f"{key} must be in the years {YEARS[0]} to {YEARS[-1]}, not in {moment.year}")
    if moment.tzinfo is None and not zone:
        raise BadRule(
            f'{key} has no time zone: add zone = "Europe/Zurich" or the like, or an offset as in '
            f"{moment.isoformat()}+02:00"
        )
    return moment


def _whole(table: Mapping[str, Any], key: str, of: str) -> int:
    number = table.get(key, 0)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 100_000:
        raise BadRule(f"{key} must be a whole number of {of}, not {number!r}")
    return number


def _number(table: Mapping[str, Any], key: str) -> float:
    number = table.get(key, 0)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not 0 <= number < math.inf or number != round(number, 2):
        raise BadRule(f"{key} must be a number with two decimals at most, not {number!r}")
    return float(number)
