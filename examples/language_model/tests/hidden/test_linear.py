"""The linear layer: what the grade looks at beyond the public tests."""

import pytest
from tests.public.inputs import linear

from grader.testing import assert_gradients_match, assert_inputs_unchanged, assert_matches, exercise


@exercise("run_linear")
@pytest.mark.parametrize(("d_in", "d_out"), [(7, 7), (9, 4)], ids=str)
def test_linear(student, reference, draw, d_in, d_out):
    """A batch of sequences, with as many features as before or fewer."""
    inputs = linear(draw, d_in, d_out) | {"in_features": draw(2, 5, d_in)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_linear", aspect="generality")
@pytest.mark.parametrize("shape", [(1,), (3, 1), (1, 2, 3, 1, 4)], ids=str)
def test_linear_of_any_shape(student, reference, draw, shape):
    """A single feature, a single vector, and many axes."""
    inputs = linear(draw, shape[-1], 3) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_linear", aspect="gradients")
def test_linear_gradients(student, reference, draw):
    """Gradients reach the features."""
    inputs, cotangent = linear(draw, 4, 3) | {"in_features": draw(2, 3, 4)}, draw(2, 3, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_linear", aspect="discipline")
def test_linear_leaves_its_inputs_alone(student, draw):
    """Inputs stay as they are."""
    assert_inputs_unchanged(student, **linear(draw, 4, 3), in_features=draw(2, 3, 4))


@exercise("run_linear", aspect="discipline")
def test_linear_of_strided_inputs(student, reference, draw):
    """Features and weights need not be contiguous in memory."""
    inputs = linear(draw, 5, 5) | {"in_features": draw(5, 2, 3).transpose(0, 2)}
    inputs["weights"] = inputs["weights"].T
    assert_matches(student(**inputs), reference(**inputs))
