"""The learning rate's schedule: the tests that you have at home."""

import pytest
from tests.public.iterations import rates_match

from grader.testing import assert_matches, exercise


@exercise("run_get_lr_cosine_schedule")
def test_schedule_of_a_worked_example(student, reference, draw):
    """Seven iterations up to a rate of 1, fourteen down to 0.1, and then it stays there."""
    settings = {
        "max_learning_rate": 1.0,
        "min_learning_rate": 0.1,
        "warmup_iters": 7,
        "cosine_cycle_iters": 21,
    }
    worked = {0: 0.0, 1: 1 / 7, 6: 6 / 7, 7: 1.0, 14: 0.55, 21: 0.1, 22: 0.1, 30: 0.1}
    for it, rate in worked.items():
        assert_matches(student(it=it, **settings), rate, what=f"the rate at iteration {it}")
    rates_match(student, reference, draw, range(0, 30, 3))


@exercise("run_get_lr_cosine_schedule")
@pytest.mark.parametrize("part", ["warm-up", "cosine", "floor"])
def test_schedule_in_each_part(student, reference, draw, part):
    """Up in a straight line, down along half a cosine, and level afterwards."""
    within = {"warm-up": range(10), "cosine": range(10, 31, 2), "floor": range(31, 60, 7)}
    rates_match(student, reference, draw, within[part], warmup_iters=10, cosine_cycle_iters=30)
