"""Guesses at the cause of a nearly right answer."""

from __future__ import annotations

import pytest

from grader.core.explanation import Told
from grader.core.verdict import Aspect, Measurement, Visibility
from grader.explain.explainer.unknown import without_doubtful_guesses
from grader.testing.suite import Test as SuiteTest

pytestmark = pytest.mark.unit


def a_test(name: str, exercise: str, aspect: Aspect) -> SuiteTest:
    """Returns the facts on a test."""
    return SuiteTest(name, exercise, aspect, 1.0, Visibility.HIDDEN, "")


def off_by(times: float, guess: str = "") -> Told:
    """Returns the words on an answer that is so many tolerances off."""
    return Told("wrong", Measurement(1.0, 1.0, 0.0, 1e-5, times), guess=guess)


@pytest.mark.parametrize(
    ("exercise", "aspect", "times", "is_kept"),
    [
        ("run_norm", Aspect.VALUES, 40_000.0, False),
        ("run_norm", Aspect.VALUES, 40.0, True),
        ("run_norm", Aspect.NUMERICS, 40_000.0, True),
        ("run_other", Aspect.VALUES, 40_000.0, True),
    ],
)
def test_a_guess_is_left_out_beside_a_plain_answer_far_off(exercise, aspect, times, is_kept):
    """Large inputs bring many faults near; small ones show a wrong constant best."""
    tests = {
        "near": a_test("near", "run_norm", Aspect.NUMERICS),
        "far": a_test("far", exercise, aspect),
    }
    told = without_doubtful_guesses(
        {"near": off_by(20.0, "A constant."), "far": off_by(times)}, tests
    )
    assert told["near"].guess == ("A constant." if is_kept else "")
    assert told["far"] == off_by(times)
