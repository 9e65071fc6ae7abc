"""Part 2, the feed-forward layer: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    exercise,
)

DTYPES = [torch.float64, torch.bfloat16]


def swiglu_inputs(draw, *shape, d_ff=12, dtype=torch.float32):
    d_model = shape[-1]
    return {
        "gate_weight": draw(d_ff, d_model, scale=d_model**-0.5, dtype=dtype),
        "up_weight": draw(d_ff, d_model, scale=d_model**-0.5, dtype=dtype),
        "down_weight": draw(d_model, d_ff, scale=d_ff**-0.5, dtype=dtype),
        "in_features": draw(*shape, dtype=dtype),
    }


# --- run_silu -----------------------------------------------------------------------------------


@exercise("run_silu")
def test_silu(student, reference, draw):
    """A batch of vectors."""
    x = draw(4, 16, scale=3.0)
    assert_matches(student(x), reference(x))


@exercise("run_silu", aspect="numerics")
def test_silu_of_extremes(student):
    """Where an exponential overflows, there is still an answer."""
    x = torch.tensor([-200.0, -100.0, 100.0, 200.0])
    assert_matches(student(x), torch.tensor([0.0, 0.0, 100.0, 200.0]))


@exercise("run_silu", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_silu_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the input."""
    x = draw(3, 8, dtype=dtype)
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


# --- run_swiglu ---------------------------------------------------------------------------------


@exercise("run_swiglu")
@pytest.mark.parametrize(("d_model", "d_ff"), [(8, 20), (16, 32)], ids=str)
def test_swiglu(student, reference, draw, d_model, d_ff):
    """A batch of sequences of ordinary sizes."""
    inputs = swiglu_inputs(draw, 2, 5, d_model, d_ff=d_ff)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="generality")
@pytest.mark.parametrize("d_ff", [3, 8])
def test_swiglu_of_other_widths(student, reference, draw, d_ff):
    """The space between may be narrower, or as wide as the features."""
    inputs = swiglu_inputs(draw, 2, 4, 8, d_ff=d_ff)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="generality")
@pytest.mark.parametrize("shape", [(7,), (5, 3), (2, 1, 3, 4)], ids=str)
def test_swiglu_of_any_shape(student, reference, draw, shape):
    """Any number of leading axes, and as wide between as the features are."""
    inputs = swiglu_inputs(draw, *shape, d_ff=shape[-1])
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_swiglu_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    inputs = swiglu_inputs(draw, 2, 4, 8, dtype=dtype)
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_swiglu", aspect="gradients")
def test_swiglu_gradients(student, reference, draw):
    """Gradients reach the features and all three weights."""
    inputs, cotangent = swiglu_inputs(draw, 2, 3, 4), draw(2, 3, 4)
    assert_gradients_match(student, reference, cotangent, wrt=tuple(inputs), **inputs)


@exercise("run_swiglu", aspect="discipline")
@pytest.mark.parametrize("check", [assert_inputs_unchanged, assert_runs_on_another_device])
def test_swiglu_is_a_good_guest(student, draw, check):
    """Inputs stay as they are and where they are."""
    check(student, **swiglu_inputs(draw, 2, 3, 4))
