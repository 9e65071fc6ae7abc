"""Part 1, norms: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    Tolerance,
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
    exercise,
)

DTYPES = [torch.float64, torch.bfloat16]
# Beside features of this size, an eps of 1e-6 is never seen.
LARGE = 3.0
# Near 1000 float32 counts in steps of 6e-5, and a mean of eight such numbers is off by as much.
FAR_FROM_ZERO = Tolerance(rtol=1e-3, atol=2e-3)


def layer_norm_inputs(draw, *shape, eps=1e-6, dtype=torch.float32):
    gains = {name: draw(shape[-1], dtype=dtype) for name in ("weight", "bias")}
    return {"in_features": draw(*shape, scale=LARGE, dtype=dtype), "eps": eps} | gains


def rms_norm_inputs(draw, *shape, eps=1e-6, dtype=torch.float32):
    x, weight = draw(*shape, scale=LARGE, dtype=dtype), draw(shape[-1], dtype=dtype)
    return {"in_features": x, "weight": weight, "eps": eps}


# --- run_layer_norm -----------------------------------------------------------------------------


@exercise("run_layer_norm")
@pytest.mark.parametrize("d", [8, 32])
def test_layer_norm(student, reference, draw, d):
    """A batch of sequences of ordinary sizes."""
    inputs = layer_norm_inputs(draw, 2, 5, d)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_layer_norm", aspect="generality")
@pytest.mark.parametrize("shape", [(7,), (5, 3), (1, 4, 6), (2, 1, 3, 5)], ids=str)
def test_layer_norm_of_any_shape(student, reference, draw, shape):
    """Any number of leading axes, and axes of length 1 among them."""
    inputs = layer_norm_inputs(draw, *shape, eps=0.5)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_layer_norm", aspect="generality")
def test_layer_norm_of_one_feature(student, reference, draw):
    """A single feature is its own mean: what is left is the shift."""
    inputs = layer_norm_inputs(draw, 2, 3, 1)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_layer_norm", aspect="numerics")
def test_layer_norm_far_from_zero(student, reference, draw):
    """Features near 1000 keep their variance of about 1."""
    inputs = layer_norm_inputs(draw, 2, 4, 8)
    inputs["in_features"] = 1_000.0 + draw(2, 4, 8)
    assert_matches(student(**inputs), reference(**inputs), FAR_FROM_ZERO)


@exercise("run_layer_norm", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layer_norm_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    inputs = layer_norm_inputs(draw, 2, 4, 8, dtype=dtype)
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_layer_norm", aspect="gradients")
def test_layer_norm_gradients(student, reference, draw):
    """Gradients reach the features, the gain and the shift."""
    inputs, cotangent = layer_norm_inputs(draw, 2, 3, 4, eps=0.5), draw(2, 3, 4)
    wrt = ("in_features", "weight", "bias")
    assert_gradients_match(student, reference, cotangent, wrt=wrt, **inputs)


@exercise("run_layer_norm", aspect="discipline")
@pytest.mark.parametrize("check", [assert_inputs_unchanged, assert_runs_on_another_device])
def test_layer_norm_is_a_good_guest(student, draw, check):
    """Inputs stay as they are and where they are."""
    check(student, **layer_norm_inputs(draw, 2, 3, 4))


@exercise("run_layer_norm", aspect="efficiency")
def test_layer_norm_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    small, large = layer_norm_inputs(draw, 2, 3, 6), layer_norm_inputs(draw, 6, 9, 6)
    assert_work_does_not_grow(student, reference, small, large)


# --- run_rms_norm -------------------------------------------------------------------------------


@exercise("run_rms_norm")
@pytest.mark.parametrize("d", [8, 32])
def test_rms_norm(student, reference, draw, d):
    """A batch of sequences of ordinary sizes."""
    inputs = rms_norm_inputs(draw, 2, 5, d)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rms_norm", aspect="generality")
@pytest.mark.parametrize("shape", [(7,), (5, 3), (2, 1, 3, 5), (2, 3, 1)], ids=str)
def test_rms_norm_of_any_shape(student, reference, draw, shape):
    """Any number of leading axes, and axes of length 1 among them."""
    inputs = rms_norm_inputs(draw, *shape, eps=0.5)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rms_norm", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rms_norm_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    inputs = rms_norm_inputs(draw, 2, 4, 8, dtype=dtype)
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_rms_norm", aspect="discipline")
def test_rms_norm_on_another_device(student, draw):
    """The features and the gain may lie on a GPU."""
    assert_runs_on_another_device(student, **rms_norm_inputs(draw, 2, 13, 4))


@exercise("run_rms_norm", aspect="efficiency")
def test_rms_norm_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    small, large = rms_norm_inputs(draw, 2, 3, 6), rms_norm_inputs(draw, 6, 9, 6)
    assert_work_does_not_grow(student, reference, small, large)
