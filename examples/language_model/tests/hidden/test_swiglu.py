"""SwiGLU: what the grade looks at beyond the public tests."""

import pytest
from tests.public.inputs import swiglu

from grader.testing import (
    Tolerance,
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_matches,
    exercise,
)

# Projections of hundreds are multiplied and summed: the error is that of the largest term.
LARGE_FEATURES = Tolerance(rtol=1e-4, atol=0.5)


@exercise("run_swiglu")
@pytest.mark.parametrize(("d_model", "d_ff"), [(8, 24), (7, 7)], ids=str)
def test_swiglu(student, reference, draw, d_model, d_ff):
    """A batch of sequences."""
    inputs = swiglu(draw, d_model, d_ff) | {"in_features": draw(2, 5, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="generality")
@pytest.mark.parametrize(
    ("shape", "d_ff"), [((1,), 4), ((3, 1, 4), 2), ((1, 2, 2, 2, 6), 5)], ids=str
)
def test_swiglu_of_any_shape(student, reference, draw, shape, d_ff):
    """A single feature, a narrower space in between, and many axes."""
    inputs = swiglu(draw, shape[-1], d_ff) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="numerics")
def test_swiglu_of_large_features(student, reference, draw):
    """Features of hundreds give no NaN, nor do gradients there."""
    inputs = swiglu(draw, 6, 12) | {"in_features": draw(2, 4, 6, scale=300.0)}
    assert_matches(student(**inputs), reference(**inputs), LARGE_FEATURES)
    assert_gradients_match(
        student,
        reference,
        draw(2, 4, 6),
        wrt=("in_features",),
        tolerance=LARGE_FEATURES,
        **inputs,
    )


@exercise("run_swiglu", aspect="gradients")
def test_swiglu_gradients(student, reference, draw):
    """Gradients reach the features."""
    inputs, cotangent = swiglu(draw, 4, 6) | {"in_features": draw(2, 3, 4)}, draw(2, 3, 4)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_swiglu", aspect="discipline")
def test_swiglu_leaves_its_inputs_alone(student, draw):
    """Inputs stay as they are."""
    assert_inputs_unchanged(student, **swiglu(draw, 4, 6), in_features=draw(2, 3, 4))
