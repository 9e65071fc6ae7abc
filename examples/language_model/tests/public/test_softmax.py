"""Softmax: the tests that you have at home."""

import math

import pytest
import torch

from grader.testing import assert_inputs_unchanged, assert_matches, exercise
from tests.public.tolerances import LARGE_SCORES, ROUNDED


@exercise("run_softmax")
def test_softmax_of_worked_scores(student, reference, draw):
    """Scores of 0 and log 3 share 1 to 3, and so do 5 and 5 + log 3; and other scores."""
    scores = torch.tensor([[0.0, math.log(3.0)], [5.0 + math.log(3.0), 5.0]])
    expected = torch.tensor([[0.25, 0.75], [0.75, 0.25]])
    assert_matches(student(scores, dim=-1), expected, ROUNDED)
    others = draw(2, 6)
    assert_matches(
        student(others, dim=-1), reference(others, dim=-1), what="the softmax of other scores"
    )


@exercise("run_softmax")
def test_softmax_along_the_last_axis(student, reference, draw):
    """The softmax of each row of a matrix."""
    x = draw(4, 6)
    assert_matches(student(x, dim=-1), reference(x, dim=-1))


@exercise("run_softmax")
def test_softmax_along_the_middle_axis(student, reference, draw):
    """The softmax of each column of a batch of matrices."""
    x = draw(2, 4, 6)
    assert_matches(student(x, dim=1), reference(x, dim=1))


@exercise("run_softmax", aspect="generality")
@pytest.mark.parametrize(("shape", "dim"), [((5,), 0), ((3, 4, 2), -2)], ids=str)
def test_softmax_along_any_axis(student, reference, draw, shape, dim):
    """The axis may be any, counted from the front or from the back."""
    x = draw(*shape)
    assert_matches(student(x, dim=dim), reference(x, dim=dim))


@exercise("run_softmax", aspect="numerics")
@pytest.mark.parametrize("center", [10_000.0, -5_000.0])
def test_softmax_of_large_numbers(student, reference, draw, center):
    """Numbers near 10000 or -5000 have a softmax like any others."""
    x = center + draw.integers(-5, 6, 3, 6)
    assert_matches(student(x, dim=-1), reference(x, dim=-1), LARGE_SCORES)


@exercise("run_softmax", aspect="discipline")
def test_softmax_leaves_its_input_alone(student, draw):
    """The caller's tensor is the same after the call."""
    assert_inputs_unchanged(student, draw(4, 6), dim=-1)
