"""GitHub Classroom's result, read as its reporter reads it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from grader.core.verdict import Grade, Status, Where
from grader.reports.export.github import classroom_result, encoded
from grader.reports.standing import OUR_FAULT
from tests.harness.ci_fixtures import hostile_grade, mixed_grade
from tests.harness.export_fixtures import a_grade, a_verdict, not_graded, unreadable

pytestmark = pytest.mark.unit

FIELDS = {
    "name": str, "status": str, "message": str, "test_code": str, "task_id": int,
    "filename": str, "line_no": int, "duration": float, "score": float, "output": str,
}  # fmt: skip


def read_result(grade: Grade) -> dict[str, Any]:
    """Returns the result from a step's output, checked against what the reporter expects."""
    result = json.loads(base64.b64decode(encoded(classroom_result(grade)), validate=True))
    assert set(result) == {"version", "status", "max_score", "tests"}
    assert result["version"] == 3
    assert result["status"] in ("pass", "fail", "error")
    assert len(result["tests"]) > 0, "the reporter fails on a result without tests"
    for test in result["tests"]:
        assert {name: type(value) for name, value in test.items()} == FIELDS
        assert test["status"] in ("pass", "fail", "error")
        printed = f"✅ {test['name']}\n{test['message']}"
        assert "::" not in printed, "the reporter prints it, and runners obey what is printed"
        assert "##[" not in printed
        assert len(printed.splitlines()) <= 2
    return result


def classroom_points(result: dict[str, Any]) -> float:
    """Returns the points that Classroom receives."""
    return sum(test["score"] for test in result["tests"])


def table_points(result: dict[str, Any]) -> float:
    """Returns the points that the reporter's table shows."""
    tests = result["tests"]
    return sum(test["status"] == "pass" for test in tests) / len(tests) * result["max_score"]


def grade_with_shares(*shares: float, points: tuple[float, ...] = (10, 6, 12, 3, 4)) -> Grade:
    tests = [
        a_verdict(f"run_{place}", round(share * most, 2), float(most))
        for place, (share, most) in enumerate(zip(shares, points, strict=True))
    ]
    return a_grade("alice", *tests)


@pytest.mark.parametrize(
    "shares",
    [
        (1, 1, 1, 1, 1),
        (0, 0, 0, 0, 0),
        (0.85, 0.6, 0.75, 1, 0),
        (0.05, 0.05, 0.05, 0.05, 0.05),
        (0.95, 0.95, 0.95, 0.95, 0.95),
        (1, 0.123, 0.987, 0.5, 0.5),
    ],
)
def test_the_reporter_and_classroom_show_the_same_total(shares: tuple[float, ...]) -> None:
    """The sum of the scores is exact.

    The table counts passed tests: it is off by at most one test of each unfinished exercise.
    """
    grade = grade_with_shares(*shares)
    result = read_result(grade)
    assert classroom_points(result) == pytest.approx(grade.score)
    assert result["max_score"] == 35
    unfinished = sum(0 < share < 1 for share in shares)
    assert abs(table_points(result) - grade.score) <= max(0.5, 0.95 * unfinished)


def test_each_point_of_an_exercise_becomes_one_test() -> None:
    """Each test then weighs the same. The first point that was lost gives the reason."""
    result = read_result(mixed_grade())
    found = [(t["name"], t["status"], t["score"]) for t in result["tests"]]
    assert found == [
        ("run_softmax, point 1 of 2", "pass", 1.0),
        ("run_softmax, point 2 of 2", "pass", 1.0),
        ("run_mha, point 1 of 5", "pass", 1.0),
        ("run_mha, point 2 of 5", "pass", 1.0),
        ("run_mha, point 3 of 5", "pass", 1.0),
        ("run_mha, point 4 of 5", "fail", 0.0),
        ("run_mha, point 5 of 5", "fail", 0.0),
        ("run_rope, point 1 of 2", "fail", 0.0),
        ("run_rope, point 2 of 2", "fail", 0.0),
        ("run_mask, point 1 of 2", "fail", 0.0),
        ("run_mask, point 2 of 2", "fail", 0.0),
    ]
    said = [test for test in result["tests"] if test["message"]]
    assert [test["name"] for test in said] == [found[5][0], found[7][0], found[9][0]]
    assert (said[0]["filename"], said[0]["line_no"]) == ("attention.py", 12)


def test_an_incomplete_exercise_never_passes_every_test() -> None:
    """9.9 of 10 points must not show as ten passed tests."""
    statuses = [
        test["status"] for test in read_result(grade_with_shares(0.99, points=(10,)))["tests"]
    ]
    assert statuses == ["pass"] * 9 + ["fail"]


def test_an_assignment_becomes_a_hundred_tests_at_most() -> None:
    """More tests would make the log too long to read."""
    result = read_result(grade_with_shares(0.5, 1, points=(600, 400)))
    assert len(result["tests"]) == 100
    assert result["tests"][0]["name"].endswith(", part 1 of 60")
    assert classroom_points(result) == pytest.approx(700)
    assert table_points(result) == pytest.approx(700)


def test_rounding_errors_in_stored_points_add_no_test() -> None:
    """A hundredth of a thousandth of a point does not add a test."""
    result = read_result(grade_with_shares(1, 1, points=(10.000003, 5.999998)))
    assert len(result["tests"]) == 16
    assert result["status"] == "pass"


def test_an_ungraded_submission_is_an_error_and_costs_no_points() -> None:
    """If a result has no points, Classroom keeps the earlier ones."""
    result = read_result(not_graded("bob"))
    assert (result["status"], result["max_score"]) == ("error", 0)
    assert "not graded" in result["tests"][0]["message"]


def test_an_unreadable_submission_reports_its_error_at_every_exercise() -> None:
    """The message is the syntax error with its line."""
    message = "SyntaxError: '(' was never closed"
    broken = a_verdict("run_rope", 0.0, message=message, where=Where("adapters.py", 3))
    grade = a_grade("bob", broken, status=unreadable("bob").status, message=message)
    first, *_ = read_result(grade)["tests"]
    assert (first["message"], first["filename"], first["line_no"]) == (message, "adapters.py", 3)


def test_no_text_of_a_submission_becomes_a_command_of_the_reporters_runner() -> None:
    """`read` checks every text."""
    read_result(hostile_grade())


@pytest.mark.parametrize("exercises", [15, 30, 60])
def test_a_result_fits_the_variable_in_which_the_reporter_gets_it(exercises: int) -> None:
    """Linux starts no program with a variable of 128 KiB."""
    tests = [
        a_verdict(f"run_{number}", 0.0, 4.0, status=Status.ERROR, message=f"{number}" + "😀" * 5000)
        for number in range(exercises)
    ]
    assert len(encoded(classroom_result(a_grade("ann", *tests)))) < 128 << 10
    read_result(a_grade("ann", *tests))


def test_a_submission_without_any_verdict_says_why() -> None:
    """Its result is worth no points, so that nobody loses any."""
    for grade, why in (
        (a_grade("ann"), "nothing was graded"),
        (a_grade("ann", message="no tests"), "no tests"),
        (not_graded("ann"), "the judge was lost twice"),
    ):
        result = read_result(grade)
        assert (result["status"], result["max_score"]) == ("error", 0)
        (test,) = result["tests"]
        assert test["message"] == f"not graded, {OUR_FAULT}: {why}"
