"""The standing of an exercise, in a word and in a sentence."""

from __future__ import annotations

import time

import pytest

from grader.core.causes import Cause, FailedTest, causes
from grader.core.verdict import Aspect, Status
from grader.reports.standing import Standing, paragraph, standings, title
from tests.harness.reports.test_summary import (
    ERROR,
    FAILED,
    GENERALITY,
    MISSING,
    NUMERICS,
    PASSED,
    VALUES,
    a_grade,
    a_verdict,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("tests", "standing"),
    [
        ([(PASSED, VALUES), (PASSED, GENERALITY)], Standing.FULL),
        ([(PASSED, VALUES), (FAILED, GENERALITY)], Standing.PARTIAL),
        ([(PASSED, VALUES), (Status.TIMEOUT, NUMERICS)], Standing.PARTIAL),
        ([(FAILED, VALUES), (PASSED, GENERALITY)], Standing.FAILED),
        ([(FAILED, VALUES), (PASSED, VALUES)], Standing.FAILED),
        ([(ERROR, VALUES), (FAILED, GENERALITY), (FAILED, NUMERICS)], Standing.ERROR),
        ([(FAILED, VALUES), (ERROR, VALUES), (ERROR, VALUES)], Standing.ERROR),
        ([(Status.TIMEOUT, VALUES)], Standing.TIMEOUT),
        ([(Status.CRASHED, VALUES), (PASSED, GENERALITY)], Standing.CRASHED),
        ([(MISSING, VALUES), (MISSING, GENERALITY)], Standing.MISSING),
        ([(FAILED, VALUES), (Status.NOT_GRADED, GENERALITY)], Standing.NOT_GRADED),
        ([(PASSED, GENERALITY), (FAILED, NUMERICS)], Standing.FAILED),
    ],
)
def test_the_standing_of_an_exercise_depends_on_its_values_first(
    tests: list[tuple[Status, Aspect]], standing: Standing
) -> None:
    """Right values with another failure are better than wrong values."""
    (found,) = standings(a_grade(*(a_verdict("run_rope", *test) for test in tests)))
    assert found.standing is standing
    assert (found.telling is None) == (standing is Standing.FULL)


def test_a_partial_standing_names_the_failed_aspects() -> None:
    """Every report uses these words."""
    found, other = standings(
        a_grade(
            a_verdict("run_rope"),
            a_verdict("run_rope", FAILED, NUMERICS),
            a_verdict("run_softmax"),
            a_verdict("run_rope", ERROR, GENERALITY),
        )
    )
    assert found.words == "values passed; generality and numerics failed"
    assert found.lacking == (GENERALITY, NUMERICS)
    assert (found.passed, found.tests, found.score, found.max_score) == (1, 3, 2.0, 6.0)
    assert (other.exercise, other.words) == ("run_softmax", "right")


def test_right_values_that_cost_points_use_what_is_forbidden() -> None:
    """Nothing else takes points off tests that passed."""
    (found,) = standings(a_grade(a_verdict("run_rope")._replace(score=1.0)))
    assert (found.standing, found.words) == (Standing.FULL, "right, but uses what is forbidden")


RAISED = "RuntimeError: no (lm/a.py:7)\n    return ~mask"


@pytest.mark.parametrize(
    ("message", "line", "told"),
    [
        # The line to change is another than the one that raised, which begins like it.
        (f"{RAISED}\nCheck lm/a.py:70.", 70, "at lm/a.py:7\n    return ~mask\nCheck lm/a.py:70."),
        (RAISED, 7, "at lm/a.py:7\n    return ~mask"),
        (f"{RAISED}\nCheck lm/a.py:7.", 7, "at lm/a.py:7\n    return ~mask\nCheck lm/a.py:7."),
        # Without a source line, the place of the line to change is told once.
        ("it is 3\nCheck lm/a.py:7.", 7, "Check lm/a.py:7."),
        ("it is 3\nCheck calm/a.py:7.", 7, "at lm/a.py:7\nCheck calm/a.py:7."),
    ],
)
def test_each_source_line_has_its_own_place(message: str, line: int, told: str) -> None:
    """A similar place elsewhere in the text does not count."""
    test = FailedTest("t", "run_x", ERROR, message, places=(("lm/a.py", line),))
    assert "\n".join(paragraph(Cause((test,), test))) == told


@pytest.mark.parametrize("length", [290, 490])
def test_a_long_first_line_is_told_once(length: int) -> None:
    """The title holds the whole of an exception; a text below repeats only a cut title."""
    said = f"RuntimeError: {'x ' * (length // 2)}end"
    test = FailedTest("t", "run_x", ERROR, f"{said}\nCheck it.")
    cause = Cause((test,), test)
    told = "\n".join([title(cause), *paragraph(cause)])
    assert told.count(said) == 1
    assert told.count("RuntimeError") == 1 + (length == 490)
    assert "\n".join(paragraph(cause, 150)) == test.message


def test_the_causes_of_exceptions_with_any_text_take_no_seconds() -> None:
    """A text may look like a place that never ends."""
    said = f"ValueError: x (a:{'1' * 1900}"
    places = (("a.py", 1),)
    failed = [FailedTest(f"{one}", "run_x", ERROR, said, places=places) for one in range(300)]
    began = time.process_time()
    (found,) = causes(failed)
    assert title(found).startswith("run_x: ValueError: x (a:1")
    assert time.process_time() - began < 2
