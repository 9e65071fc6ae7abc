"""GitHub Classroom's result of a grading step (`education/autograding-python-grader`, version 3).

Classroom takes the sum of the tests' scores; the table that its reporter prints counts the tests
that passed instead. So an exercise is as many tests as it has points, and both come out alike, up
to what half-earned points make of it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.core.points import hundredths, points_of
from grader.core.text import one_line
from grader.core.verdict import Grade, GradeStatus, Verdict
from grader.reports.account import causes_of
from grader.reports.exercise_feedback import feedback
from grader.reports.standing import ExerciseStanding, by_exercise, standings

_VERSION = 3
_POINT = hundredths(1)
_MOST_TESTS = 100
_MESSAGE = 500


def classroom_result(grade: Grade) -> dict[str, Any]:
    """The result as an object; what was not graded carries no points, so that none are lost."""
    if not grade.is_complete or not grade.tests:
        reason = grade.message or "nothing was graded"
        test = _test("grading", "error", 0, f"not graded, by the grader's fault: {reason}")
        return {"version": _VERSION, "status": "error", "max_score": 0, "tests": [test]}
    exercises = standings(grade)
    unit = max(_POINT, -(-hundredths(grade.max_score) // _MOST_TESTS))
    whole = _passes(exercises, grade, unit)
    readable = grade.status is GradeStatus.GRADED
    found = causes_of(grade.tests)
    told = {name: feedback(own, found) for name, own in by_exercise(grade.tests).items()}
    tests = [
        test
        for each in exercises
        for test in _points(
            each,
            (told[each.exercise] if readable else grade.message) or "",
            unit,
            whole[each.exercise],
        )
    ]
    passed = all(test["status"] == "pass" for test in tests)
    status = "pass" if passed else "fail"
    return {"version": _VERSION, "status": status, "max_score": grade.max_score, "tests": tests}


def encoded(result: Mapping[str, Any]) -> str:
    """The result as a step's output `result` holds it: base64 of JSON."""
    return base64.b64encode(json.dumps(result, allow_nan=False).encode()).decode()


def _points(
    exercise: ExerciseStanding, reason: str, unit: int, passes: int
) -> Iterator[dict[str, Any]]:
    """A test for each point of an exercise; the first that is not earned says why."""
    number = _number(exercise, unit)
    left = hundredths(exercise.score)
    for place in range(1, number + 1):
        worth = min(unit, hundredths(exercise.max_score) - unit * (place - 1))
        score = left if place == number else min(worth, left)
        left -= score
        name = f"{exercise.exercise}, point {place} of {number}"
        if place <= passes:
            yield _test(name, "pass", score)
        elif place == passes + 1:
            yield _test(name, "fail", score, reason, exercise.telling)
        else:
            yield _test(name, "fail", score)


def _passes(exercises: Sequence[ExerciseStanding], grade: Grade, unit: int) -> dict[str, int]:
    """How many points of each exercise pass: whole ones, then the largest remainders.

    The last point of an exercise that is not done never passes.
    """
    earned = {each.exercise: hundredths(each.score) for each in exercises}
    whole = {exercise: score // unit for exercise, score in earned.items()}
    begun = {exercise: score % unit for exercise, score in earned.items()}
    total = sum(_number(each, unit) for each in exercises)
    for each in exercises:
        if each.telling is None and each.score >= each.max_score:
            whole[each.exercise] = _number(each, unit)
            begun[each.exercise] = 0
    share = grade.score / grade.max_score if grade.max_score > 0 else 1.0
    missing = round(total * share) - sum(whole.values())
    for each in sorted(exercises, key=lambda each: -begun[each.exercise]):
        is_last = whole[each.exercise] + 1 >= _number(each, unit)
        if missing > 0 and begun[each.exercise] and not is_last:
            whole[each.exercise] += 1
            missing -= 1
    return whole


def _number(exercise: ExerciseStanding, unit: int) -> int:
    return max(1, -(-hundredths(exercise.max_score) // unit))


def _test(
    name: str, status: str, score: int, message: str = "", telling: Verdict | None = None
) -> dict[str, Any]:
    where = telling.where if telling else None
    return {
        "name": _calm(name),
        "status": status,
        "message": _calm(message, _MESSAGE),
        "test_code": "",
        "task_id": 0,
        "filename": _calm(where.file) if where else "",
        "line_no": where.line if where else 0,
        "duration": 0.0,
        "score": points_of(score),
        "output": "",
    }


def _calm(text: str, longest: int = 200) -> str:
    """The text on one line, without what a runner that prints it would take for a command."""
    return one_line(text, longest).replace("::", ": :").replace("##[", "## [")
