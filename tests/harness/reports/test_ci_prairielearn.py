"""PrairieLearn's results, checked against its documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.core.verdict import Grade
from grader.reports.export.gradescope import prairielearn_results
from tests.harness.ci_fixtures import hostile_grade, mixed_grade
from tests.harness.export_fixtures import a_grade, a_verdict, not_graded, unreadable

pytestmark = pytest.mark.unit

TOP = {"score", "gradable", "format_errors", "message", "output", "images", "tests"}
TEST = {"name", "description", "points", "max_points", "message", "output", "images"}


def read(grade: Grade) -> dict[str, Any]:
    text = json.dumps(prairielearn_results(grade), allow_nan=False)
    assert len(text.encode("utf-8")) < 1_000_000
    found = json.loads(text)
    assert set(found) <= TOP
    assert found["gradable"] is False or 0 <= found["score"] <= 1
    for test in found.get("tests", []):
        assert set(test) <= TEST
        assert {"points", "max_points"} <= set(test), "or no test shows its points"
    return found


def test_the_score_is_a_fraction_and_each_exercise_a_test() -> None:
    """PrairieLearn multiplies the score by the question's points."""
    found = read(mixed_grade())
    assert found["score"] == 0.5
    assert [(t["name"], t["points"], t["max_points"]) for t in found["tests"]] == [
        ("run_softmax", 2.0, 2.0),
        ("run_mha", 3.0, 4.5),
        ("run_rope", 0.0, 2.0),
        ("run_mask", 0.0, 1.5),
    ]
    assert found["tests"][1]["description"] == "values passed; generality failed"
    assert "Hint: Which pairs turn together?" in found["tests"][2]["output"]


def test_an_unreadable_submission_is_a_format_error() -> None:
    """A format error costs a student no attempt."""
    found = read(unreadable("bob"))
    assert found == {"gradable": False, "format_errors": ["the zip is empty"]}


def test_an_ungraded_submission_is_not_gradable() -> None:
    """A fault of the grader is not gradable either."""
    found = read(not_graded("bob"))
    assert found["gradable"] is False
    assert "the grader: the judge was lost twice" in found["message"]


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("text", ["😀" * 5000, '"' * 5000, "é" * 5000])
def test_the_result_file_stays_below_prairielearns_size_limit(text: str) -> None:
    """PrairieLearn would not read a larger file at all."""
    tests = [a_verdict(f"run_{n}", 0.0, message=f"{m}{text}") for n in range(60) for m in "abcdef"]
    assert len(read(a_grade("alice", *tests))["tests"]) == 60


def test_hostile_text_loses_control_characters() -> None:
    """PrairieLearn escapes markup; the grader limits the length and removes control characters."""
    for test in read(hostile_grade())["tests"]:
        assert "\x1b" not in test["output"]
        assert "\x00" not in test["output"]
