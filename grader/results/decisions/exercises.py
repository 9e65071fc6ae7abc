"""The points of a grade's exercises where tests of them do not count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

from grader.core.points import Gate, hundredths
from grader.core.verdict import Aspect, Grade, Status, Verdict


def verdicts_by_exercise(grade: Grade) -> dict[str, list[Verdict]]:
    """The verdicts of each exercise, in the order of the tests."""
    found: dict[str, list[Verdict]] = {}
    for verdict in grade.tests:
        found.setdefault(verdict.exercise, []).append(verdict)
    return found


def earned(tests: Sequence[Verdict]) -> int:
    """The hundredths that tests gave."""
    return sum(hundredths(test.score) for test in tests)


def worth(tests: Sequence[Verdict]) -> int:
    """The hundredths that tests can give."""
    return sum(hundredths(test.max_score) for test in tests)


def counting(tests: Sequence[Verdict], taken_out: Set[str], bonus: Set[str] = frozenset()) -> int:
    """What an exercise gives as if some of its tests had never been: the others carry its points.

    What counts beyond the values is gated by those values that are left, and what a forbidden call
    costs is in the same proportion as before. What tests give that are a bonus comes on top.
    """
    left = [test for test in tests if test.id not in taken_out and test.id not in bonus]
    before, now = _gated(tests), Fraction(_gated(left))
    if before and before != earned(tests):
        now = now * earned(tests) / before
    possible = worth(left)
    extra = earned([test for test in tests if test.id in bonus])
    return extra + (_rounded(now * worth(tests) / possible) if possible else 0)


def excused_points(points: Mapping[str, tuple[int, int]], exercise: str) -> int:
    """What an exercise counts that a person need not have done: the share that the others gave.

    `points` are what each exercise gave and is worth.
    """
    others = [pair for name, pair in points.items() if name != exercise]
    reached, possible = sum(got for got, _ in others), sum(of for _, of in others)
    return _rounded(Fraction(reached * points[exercise][1], possible)) if possible else 0


def _gated(tests: Sequence[Verdict]) -> int:
    """What the outcomes give, without what is taken off for forbidden calls."""
    gate, others = Gate(), 0
    for test in tests:
        right = test.status is Status.PASSED
        possible = hundredths(test.max_score)
        if test.aspect is Aspect.VALUES:
            gate.add_values(possible if right else hundredths(test.score), possible, right)
        else:
            others += possible if right else 0
    return gate.right + gate.counted_of(others)


def _rounded(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))
