"""The norm: the tests that you have at home."""

import pytest
import torch
from tests.public.inputs import away_from_zero, rmsnorm

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_work_does_not_grow,
    exercise,
)


@exercise("run_rmsnorm")
def test_rmsnorm_of_worked_figures(student, reference, draw):
    """The root mean square of 1 and 7 is 5; and other figures."""
    x, weights = torch.tensor([[[1.0, 7.0], [-7.0, 1.0]]]), torch.tensor([5.0, 10.0])
    assert_matches(student(2, 0.0, weights, x), torch.tensor([[[1.0, 14.0], [-7.0, 2.0]]]))
    inputs = rmsnorm(draw, 1, 2, 8)
    assert_matches(student(**inputs), reference(**inputs), what="the result for other figures")


@exercise("run_rmsnorm")
def test_rmsnorm_of_a_batch(student, reference, draw):
    """A batch of sequences, each token on its own."""
    inputs = rmsnorm(draw, 3, 4, 8)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rmsnorm", aspect="generality")
@pytest.mark.parametrize("eps", [0.1, 2.0])
def test_rmsnorm_with_a_large_eps(student, reference, draw, eps):
    """An eps that is large enough to be seen."""
    inputs = rmsnorm(draw, 2, 3, 8, eps=eps)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rmsnorm", aspect="numerics")
def test_rmsnorm_of_half_precision(student, reference, draw):
    """Features in float16 are squared in float32, and come back in float16."""
    inputs = rmsnorm(draw, 2, 3, 8, scale=1_000.0, dtype=torch.float16)
    actual = student(**inputs)
    assert_keeps_dtype(actual, torch.float16)
    assert_matches(actual, reference(**inputs))


@exercise("run_rmsnorm", aspect="gradients")
def test_rmsnorm_gradients(student, reference, draw):
    """Gradients reach the features, which are so large that nothing hangs on eps."""
    inputs, cotangent = rmsnorm(draw, 2, 3, 4), draw(2, 3, 4)
    inputs["in_features"] = away_from_zero(inputs["in_features"], 1.0)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_rmsnorm", aspect="discipline")
def test_rmsnorm_leaves_its_inputs_alone(student, draw):
    """The caller's tensors are the same after the call."""
    assert_inputs_unchanged(student, **rmsnorm(draw, 2, 3, 4))


@exercise("run_rmsnorm", aspect="efficiency")
def test_rmsnorm_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    small, large = rmsnorm(draw, 2, 3, 6), rmsnorm(draw, 6, 9, 6)
    assert_work_does_not_grow(student, reference, small, large)
