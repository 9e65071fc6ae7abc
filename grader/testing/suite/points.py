"""Shares out an exercise's points among its tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from grader.core.assignment import Assignment, BadAssignment
from grader.core.points import hundredths, points_of, shared_out
from grader.core.verdict import Aspect
from grader.testing.exercise import Membership

_Tests = dict[Aspect, list[str]]


def share_points(assignment: Assignment, tests: Mapping[str, Membership]) -> dict[str, float]:
    """The points that each test carries, by its id; those of an exercise's tests add up to its.

    They go to the aspects that it has tests for, in the assignment's proportions, and within an
    aspect to its tests by their weights. Of a few hundredths, some of many tests carry none.

    Raises:
        BadAssignment: if a test is of an exercise without points, or nothing of it weighs anything.
    """
    by_exercise: dict[str, _Tests] = defaultdict(lambda: defaultdict(list))
    for test, member in tests.items():
        by_exercise[member.exercise][member.aspect].append(test)
    for exercise in by_exercise:
        if exercise not in assignment.points:
            raise BadAssignment(
                f"tests of {exercise} were found, but [tool.grader.exercises] gives it no points"
            )
    points: dict[str, float] = {}
    for exercise, of_exercise in by_exercise.items():
        of_aspects = _of_aspects(assignment, exercise, [*of_exercise])
        for aspect, names in of_exercise.items():
            weights = [tests[name].weight for name in names]
            if min(weights) < 0 or not 0 < sum(weights) < float("inf"):
                raise BadAssignment(f"the weights of {exercise}'s tests of {aspect} share nothing")
            parts = shared_out(of_aspects[aspect], weights)
            points |= dict(zip(names, map(points_of, parts), strict=True))
    return points


def _of_aspects(
    assignment: Assignment, exercise: str, tested: Sequence[Aspect]
) -> dict[Aspect, int]:
    """The hundredths of each aspect that an exercise has tests of."""
    shares = {aspect: assignment.aspects.get(aspect, 0.0) for aspect in Aspect if aspect in tested}
    if not any(shares.values()):
        raise BadAssignment(
            f"every test of {exercise} is of an aspect that [tool.grader] gives no share"
        )
    whole = hundredths(assignment.points[exercise])
    return dict(zip(shares, shared_out(whole, [*shares.values()]), strict=True))
