"""Shares out an exercise's points among its tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from grader.assignment import Assignment, BadAssignment
from grader.testing.exercise import Membership
from grader.verdict import Aspect


def share_points(assignment: Assignment, tests: Mapping[str, Membership]) -> dict[str, float]:
    """The points that each test carries, by its id.

    An exercise's points go to the aspects that it has tests for, in the assignment's proportions,
    and within an aspect to its tests by their weights.

    Raises:
        BadAssignment: if a test is of an exercise without points, or an exercise has no test.
    """
    weights: dict[str, dict[Aspect, float]] = defaultdict(lambda: defaultdict(float))
    for member in tests.values():
        weights[member.exercise][member.aspect] += member.weight
    for exercise in weights:
        if exercise not in assignment.points:
            raise BadAssignment(
                f"tests of {exercise} were found, but [tool.grader.exercises] gives it no points"
            )
    return {
        test: _share(assignment, member, weights[member.exercise]) for test, member in tests.items()
    }


def _share(assignment: Assignment, member: Membership, weights: Mapping[Aspect, float]) -> float:
    shares = {aspect: assignment.aspects.get(aspect, 0.0) for aspect in weights}
    total = sum(shares.values())
    if total == 0:
        raise BadAssignment(
            f"every test of {member.exercise} is of an aspect that [tool.grader] gives no share"
        )
    of_aspect = assignment.points[member.exercise] * shares[member.aspect] / total
    return of_aspect * member.weight / weights[member.aspect]
