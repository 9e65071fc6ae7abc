"""Lines that fix some tests: each test is tried, and the others keep their own cause."""

from __future__ import annotations

import pytest

from grader.core.causes import FailedTest, causes

pytestmark = pytest.mark.process

COUNT = "\ndef run_count(x):\n    return x.numel()\n"
TWO_FAULTS = {
    "a gradient that is lost": "    return 3 * x.detach() + 0 * x\n",
    "an input that is written into": "    y = 3 * x\n    x += 1\n    return y\n",
}


def failed_tests(grade, program):
    """Returns the tests of `run_double` that failed, by name."""
    return {
        verdict.id.rpartition("::")[2]: verdict
        for verdict in grade(program + COUNT).grade.tests
        if verdict.exercise == "run_double" and verdict.status == "failed"
    }


def test_an_edit_that_fixes_every_test_is_said_to_fix_the_exercise(grade):
    """The gradient test is also tried with the edit."""
    told = failed_tests(grade, "def run_double(x):\n    return 3 * x\n")
    assert "test_gradient" in told
    assert all(
        " alone fixes all failed tests of the exercise." in one.message for one in told.values()
    )
    assert {one.where.line for one in told.values()} == {2}


@pytest.mark.parametrize("fault", TWO_FAULTS)
def test_a_test_that_still_fails_after_the_edit_is_another_cause(grade, fault):
    """The message of that test names no line, because no edit makes it right."""
    told = failed_tests(grade, "def run_double(x):\n" + TWO_FAULTS[fault])
    apart = told.pop("test_gradient" if "gradient" in fault else "test_leaves_its_input_alone")
    tried = "fixes this test.\n    "
    assert tried in told["test_doubles"].message
    assert told["test_doubles"].where.line == 2
    assert apart.where is None
    assert "Still fails after one change of " in apart.message
    first, second = causes(map(FailedTest.of, [told["test_doubles"], apart]))
    assert [[test.id for test in one.tests] for one in (first, second)] == [
        [told["test_doubles"].id],
        [apart.id],
    ]
