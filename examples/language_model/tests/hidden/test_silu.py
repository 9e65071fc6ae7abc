"""The SiLU: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import DTYPES


@exercise("run_silu")
@pytest.mark.parametrize("shape", [(1, 4, 8), (5, 16)], ids=str)
def test_silu(student, reference, draw, shape):
    """Numbers on both sides of 0."""
    x = draw(*shape, scale=3.0)
    assert_matches(student(x), reference(x))


@exercise("run_silu", aspect="numerics")
@pytest.mark.parametrize("large", [100.0, 1_000.0])
def test_silu_of_large_numbers(student, reference, draw, large):
    """Numbers of hundreds and thousands, of either sign, give no NaN, nor do gradients there."""
    x = large * draw.integers(-9, 10, 2, 4, 8) + draw(2, 4, 8)
    x[0, 0, :2] = torch.tensor([-950.0, 950.0])
    assert_matches(student(x), reference(x))
    assert_gradients_match(student, reference, draw(2, 4, 8), wrt=("in_features",), in_features=x)


@exercise("run_silu", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_silu_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the input."""
    x = draw(3, 5, dtype=dtype)
    actual = student(x)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(x))


@exercise("run_silu", aspect="gradients")
def test_silu_gradients(student, reference, draw):
    """Gradients reach the input."""
    x, cotangent = draw(3, 5), draw(3, 5)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), in_features=x)


@exercise("run_silu", aspect="discipline")
@pytest.mark.parametrize("check", [assert_inputs_unchanged, assert_runs_on_another_device])
def test_silu_is_a_good_guest(student, draw, check):
    """The input stays as it is and where it is."""
    check(student, draw(3, 5))


@exercise("run_silu", aspect="efficiency")
def test_silu_without_a_loop_over_numbers(student, reference, draw):
    """More numbers need no more operations and no huge tensors."""
    small, large = {"in_features": draw(2, 3)}, {"in_features": draw(8, 12)}
    assert_work_does_not_grow(student, reference, small, large)
