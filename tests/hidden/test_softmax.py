"""Softmax: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    exercise,
)
from tests.hidden.precision import DTYPES, WEIGHTS
from tests.hidden.telling_inputs import strided
from tests.public.tolerances import LARGE_SCORES


@exercise("run_softmax")
def test_softmax_of_rows(student, reference, draw):
    """The softmax of each row of a matrix."""
    x = draw(5, 9, scale=3.0)
    assert_matches(student(x, dim=-1), reference(x, dim=-1))


@exercise("run_softmax")
def test_softmax_of_columns(student, reference, draw):
    """The softmax of each column of a matrix."""
    x = draw(4, 6)
    assert_matches(student(x, dim=0), reference(x, dim=0))


@exercise("run_softmax", aspect="generality")
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((2, 3, 4, 5), 0), ((1, 3, 4, 5), -2), ((3, 1), 0), ((6,), -1), ((3, 4), -2)],
    ids=str,
)
def test_softmax_of_any_shape(student, reference, draw, shape, dim):
    """Any number of axes, and along any of them, counted from either end."""
    x = draw(*shape)
    assert_matches(student(x, dim=dim), reference(x, dim=dim))


@exercise("run_softmax", aspect="numerics")
@pytest.mark.parametrize(("center", "step"), [(-10_000.0, 1.0), (0.0, 1_000.0)], ids=str)
def test_softmax_of_extremes(student, reference, draw, center, step):
    """Numbers far below zero, and numbers very far apart; each row is above the one before."""
    rows = 25 * torch.arange(4).unsqueeze(-1)
    x = center + step * (rows + draw.integers(-10, 11, 4, 8))
    assert_matches(student(x, dim=-1), reference(x, dim=-1), LARGE_SCORES)


@exercise("run_softmax", aspect="numerics")
def test_softmax_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the input."""
    for dtype in DTYPES:
        x = draw(4, 6, dtype=dtype)
        actual = student(x, dim=-1)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(x, dim=-1), WEIGHTS[dtype])


@exercise("run_softmax", aspect="gradients")
@pytest.mark.parametrize("dim", [-1, 0])
def test_softmax_gradients(student, reference, draw, dim):
    """Gradients reach the input."""
    x, cotangent = draw(3, 5), draw(3, 5)
    assert_gradients_match(
        student, reference, cotangent, wrt=("in_features",), in_features=x, dim=dim
    )


@exercise("run_softmax", aspect="discipline")
def test_softmax_of_strided_features(student, reference, draw):
    """The input need not be contiguous in memory."""
    x = strided(draw, 2, 3, 4)
    assert_matches(student(x, dim=1), reference(x, dim=1))


@exercise("run_softmax", aspect="discipline")
def test_softmax_on_another_device(student, draw):
    """The input may lie on a GPU."""
    assert_runs_on_another_device(student, draw(3, 13), dim=-1)
