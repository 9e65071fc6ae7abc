"""Points in hundredths: what is shared, scaled and counted, and the rule for late submissions."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pytest

from grader.core.late_rule import BadRule, LateRule, read_rule
from grader.core.points import Gate, scaled, shared_out

pytestmark = pytest.mark.unit

DUE = datetime.datetime(2026, 10, 3, 23, 59)
UTC = {"due": DUE, "zone": "UTC"}


@pytest.mark.parametrize(
    ("whole", "weights", "parts"),
    [
        (100, [1, 1, 1], [34, 33, 33]),
        (10, [1, 2, 2], [2, 4, 4]),
        (10, [3, 5, 8], [2, 3, 5]),
        (7, [0, 1], [0, 7]),
        (1, [1, 2], [0, 1]),
        (0, [1, 2], [0, 0]),
    ],
)
def test_the_largest_remainders_are_rounded_up(
    whole: int, weights: list[float], parts: list[int]
) -> None:
    """10 shared as 3, 5 and 8 is 1.875, 3.125 and 5."""
    assert shared_out(whole, weights) == parts


@pytest.mark.parametrize(
    ("parts", "most", "found"),
    [
        ([(1.5, 3.0), (4.0, 4.0)], None, [(1.5, 3.0), (4.0, 4.0)]),
        ([(0.0, 0.0)], 10.0, [(0.0, 0.0)]),
        ([(1.0, 2.0), (2.0, 2.0)], 10.0, [(2.5, 5.0), (5.0, 5.0)]),
        ([(1.0, 3.0), (0.0, 0.0)], 1.0, [(0.33, 1.0), (0.0, 0.0)]),
        ([(2.0, 3.0)], 1.0, [(0.67, 1.0)]),
    ],
)
def test_points_are_scaled_with_their_whole(
    parts: list[tuple[float, float]], most: float | None, found: list[tuple[float, float]]
) -> None:
    """A third of 1 is 0.33, and two thirds are 0.67."""
    assert scaled(parts, most) == found


@pytest.mark.parametrize(
    ("values", "share", "part"),
    [
        ([], Fraction(1), "99%"),
        ([(0, 100, False)], Fraction(0), "none"),
        ([(50, 100, False)], Fraction(1, 2), "half"),
        ([(1, 1000, False)], Fraction(1, 1000), "1%"),
        ([(999, 1000, False)], Fraction(999, 1000), "99%"),
        ([(100, 100, True), (0, 200, False)], Fraction(1, 3), "33%"),
        ([(0, 0, True), (0, 0, False)], Fraction(1, 2), "half"),
    ],
)
def test_the_gate_counts_points_or_else_the_number_of_tests(
    values: list[tuple[int, int, bool]], share: Fraction, part: str
) -> None:
    """A share between nothing and everything is never told as 0% or 100%."""
    gate = Gate()
    for right, possible, passed in values:
        gate.add_values(right, possible, passed)
    assert gate.share == share
    assert gate.remark.startswith(f"earns {part} of its points, because {part} of the points")


def test_counted_points_of_several_tests_add_up() -> None:
    """A third of three hundredths counts, and counts at the last of the tests."""
    gate = Gate()
    gate.add_values(1, 3, passed=False)
    assert gate.counted_of(3) == 1
    assert [gate.counted(1) for _ in range(6)] == [0, 0, 1, 0, 0, 1]


def test_every_key_of_a_late_rule_is_read() -> None:
    """A key that is missing costs nothing."""
    assert read_rule(UTC) == LateRule(DUE, "UTC")
    last = DUE + datetime.timedelta(days=3)
    table = UTC | {"grace": 15, "percent": 100, "of": "possible", "last": last, "days": 2}
    assert read_rule(table) == LateRule(DUE, "UTC", 15, 0.0, 100.0, "possible", last, 2)
    assert read_rule(UTC | {"points": 2.25, "last": DUE}).points == 2.25


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (3, "must be a table, with the date when the assignment is due"),
        ({}, "due must be a date with a time, as 2026-10-03T23:59:00: it is missing"),
        ({"due": datetime.date(2026, 10, 3)}, "23:59:00: not 2026-10-03"),
        ({"due": DUE}, "due has no time zone: add zone"),
        (UTC | {"percents": 1}, "knows no 'percents': did you mean percent?"),
        (UTC | {"zone": "Mars/Base"}, "zone must be a name such as"),
        (UTC | {"zone": 3}, "zone must be a name such as"),
        (UTC | {"of": "all"}, "of must be 'reached' or 'possible', not 'all'"),
        (UTC | {"percent": 1, "points": 1}, "takes points or percent a day, not both"),
        (UTC | {"percent": 101}, "percent must be 0 to 100 a day, not 101"),
        (UTC | {"percent": 0.125}, "percent must be a number with two decimals at most"),
        (UTC | {"points": -1}, "points must be a number with two decimals at most, not -1"),
        (UTC | {"points": True}, "points must be a number with two decimals at most, not True"),
        (UTC | {"points": float("inf")}, "points must be a number with two decimals at most"),
        (UTC | {"points": "1"}, "points must be a number with two decimals at most, not '1'"),
        (UTC | {"grace": 1.5}, "grace must be a whole number of minutes, not 1.5"),
        (UTC | {"grace": -1}, "grace must be a whole number of minutes, not -1"),
        (UTC | {"days": True}, "days must be a whole number of days, not True"),
        (UTC | {"days": 100_000}, "days must be a whole number of days, not 100000"),
        (UTC | {"last": DUE.replace(year=9999)}, "last must be in the years 100 to 9899, not in"),
        (UTC | {"last": DUE - datetime.timedelta(minutes=1)}, "last lies before due"),
    ],
)
def test_a_wrong_late_rule_is_refused_with_its_key(table: object, said: str) -> None:
    """The refusal comes before anything is graded."""
    with pytest.raises(BadRule) as refused:
        read_rule(table)
    assert said in str(refused.value)


def test_moments_are_told_in_the_zone_of_the_assignment() -> None:
    """A moment without a zone is in that zone; without `zone`, that of the due date counts."""
    noon = datetime.datetime(2026, 10, 3, 12, tzinfo=datetime.UTC)
    in_zurich = LateRule(DUE, "Europe/Zurich").local
    assert in_zurich(noon).isoformat() == "2026-10-03T14:00:00+02:00"
    assert in_zurich(DUE).isoformat() == "2026-10-03T23:59:00+02:00"
    three = datetime.timezone(datetime.timedelta(hours=3))
    assert LateRule(DUE.replace(tzinfo=three)).local(noon).hour == 15
