"""Random programs behind the adapters: no judge ends, and each program gets a grade.

`benchmarks/random_programs.py` grades a thousand of them.
"""

from __future__ import annotations

import pytest

from grader.core.verdict import Status
from tests.harness.hostile.random_grading import graded
from tests.harness.hostile.random_programs import program
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

# Program 36 never ends.
SOME, MANY, JOBS, TIMEOUT = (0, 3, 36), tuple(range(60)), 2, 2.0
# Quick to grade, with many ways to be wrong.
EXERCISES = ("run_softmax", "run_scaled_dot_product_attention")


@pytest.fixture(scope="module", params=rest_slow([SOME, MANY], [SOME]), ids=len)
def outcomes(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    return list(graded(request.param, JOBS, TIMEOUT, folder, EXERCISES))


def test_random_programs_end_no_judge_and_are_all_graded(outcomes):
    """A program's effects are its own error; *not graded* is only for the machine's faults."""
    assert not [(one.number, one.problem) for one in outcomes if one.is_fault]
    statuses = {test.status for one in outcomes for test in one.grade.tests}
    assert Status.NOT_GRADED not in statuses
    assert {Status.PASSED, Status.FAILED, Status.ERROR} <= statuses


def test_an_endless_random_program_times_out(outcomes):
    """The limit of a call stops the program, and its verdict is `timeout`."""
    assert Status.TIMEOUT in {test.status for one in outcomes for test in one.grade.tests}


@pytest.mark.unit
def test_a_seed_always_gives_the_same_program():
    """Otherwise nobody could reproduce a failure."""
    assert program(7) == program(7)
    assert program(7) != program(8)
