"""The rule for late submissions, from the table `[tool.grader.late]`, and platforms' times."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.core.names import meant
from grader.core.points import MOST_POINTS
from grader.core.text import PlainData

_KEYS = ("due", "zone", "grace", "points", "percent", "of", "last", "days")
_OF = ("reached", "possible")
# In these years, a time zone or late days never lead to a date that `datetime` cannot hold.
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

    @property
    def price(self) -> str:
        """Returns the cost of a late day in words: "10 % of the points reached a day"."""
        if self.points:
            return f"{self.points:g} {'point' if self.points == 1 else 'points'} a day"
        what = "possible points" if self.of == "possible" else "points reached"
        return f"{self.percent:g} % of the {what} a day"

    def local(self, moment: datetime.datetime) -> datetime.datetime:
        """Returns a moment in the rule's time zone; one without an offset is taken to be in it."""
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
        raise BadRule(f"knows no {unknown[0]!r}: {meant(unknown[0], _KEYS)}")
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


def moment_in(text: str) -> datetime.datetime | None:
    """Returns the time in a text, in ISO 8601 or as platforms write it; None for any other text.

    Platforms write `2026-10-03 17:34:00.861687000 -0700` or `… UTC`. The year must be in `YEARS`.
    """
    written = re.sub(r"\s+(UTC|GMT|Z)$", "Z", text.strip())
    written = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", written)
    try:
        moment = datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", written))
    except ValueError:
        return None
    return moment if moment.year in YEARS else None


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
    if not is_number or not 0 <= number < MOST_POINTS or number != round(number, 2):
        raise BadRule(f"{key} must be a number with two decimals at most, not {number!r}")
    return float(number)
