"""The norm: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.inputs import rmsnorm

from grader.testing import assert_keeps_dtype, assert_matches, exercise


@exercise("run_rmsnorm")
@pytest.mark.parametrize("d_model", [8, 32])
def test_rmsnorm(student, reference, draw, d_model):
    """A batch of sequences of ordinary sizes."""
    inputs = rmsnorm(draw, 2, 5, d_model)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rmsnorm", aspect="generality")
@pytest.mark.parametrize("shape", [(7,), (5, 3), (1, 2, 3, 5), (2, 3, 1)], ids=str)
def test_rmsnorm_of_any_shape(student, reference, draw, shape):
    """Any number of leading axes, and axes of length 1 among them."""
    inputs = rmsnorm(draw, *shape, eps=0.5)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rmsnorm", aspect="generality")
def test_rmsnorm_of_small_features(student, reference, draw):
    """Where features are small, eps has a say."""
    inputs = rmsnorm(draw, 2, 4, 8, eps=1e-5, scale=0.003)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rmsnorm", aspect="numerics")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_rmsnorm_keeps_half_precision(student, reference, draw, dtype):
    """Half-precision features are normalised in float32 and come back as they were."""
    inputs = rmsnorm(draw, 2, 4, 8, scale=2_000.0, dtype=dtype)
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))
