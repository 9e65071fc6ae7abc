"""Part 1, norms: layer normalisation and root mean square normalisation."""

import pytest
import torch

from grader.testing import assert_gradients_match, assert_inputs_unchanged, assert_matches, exercise

# Beside features of this size, an eps of 1e-6 is never seen.
LARGE = 3.0


def layer_norm_inputs(draw, *shape, eps=1e-6):
    x, d = draw(*shape, scale=LARGE), shape[-1]
    return {"in_features": x, "weight": draw(d), "bias": draw(d), "eps": eps}


def rms_norm_inputs(draw, *shape, eps=1e-6):
    x = draw(*shape, scale=LARGE)
    return {"in_features": x, "weight": draw(shape[-1]), "eps": eps}


# --- run_layer_norm -----------------------------------------------------------------------------


@exercise("run_layer_norm")
def test_layer_norm_of_worked_figures(student, reference, draw):
    """Mean 2, variance 1, a gain of 10 and a shift of 5 for the second feature; and others."""
    x = torch.tensor([[[1.0, 3.0], [3.0, 1.0]]])
    weight, bias = torch.tensor([1.0, 10.0]), torch.tensor([0.0, 5.0])
    expected = torch.tensor([[[-1.0, 15.0], [1.0, -5.0]]])
    assert_matches(student(x, weight, bias, 0.0), expected)
    inputs = layer_norm_inputs(draw, 1, 2, 8)
    assert_matches(student(**inputs), reference(**inputs), what="the result for other figures")


@exercise("run_layer_norm")
def test_layer_norm_of_a_batch(student, reference, draw):
    """A batch of sequences, each token on its own."""
    inputs = layer_norm_inputs(draw, 3, 4, 8)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_layer_norm", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3, 2)], ids=str)
def test_layer_norm_with_other_leading_axes(student, reference, draw, lead):
    """A single vector, or more axes than a batch and a sequence."""
    inputs = layer_norm_inputs(draw, *lead, 6)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_layer_norm", aspect="generality")
@pytest.mark.parametrize("eps", [0.1, 2.0])
def test_layer_norm_with_a_large_eps(student, reference, draw, eps):
    """An eps that is large enough to be seen."""
    inputs = layer_norm_inputs(draw, 2, 3, 8, eps=eps)
    assert_matches(student(**inputs), reference(**inputs))


# --- run_rms_norm -------------------------------------------------------------------------------


@exercise("run_rms_norm")
def test_rms_norm_of_worked_figures(student, reference, draw):
    """The root mean square of 1 and 7 is 5; and other figures."""
    x, weight = torch.tensor([[[1.0, 7.0], [-7.0, 1.0]]]), torch.tensor([5.0, 10.0])
    assert_matches(student(x, weight, 0.0), torch.tensor([[[1.0, 14.0], [-7.0, 2.0]]]))
    inputs = rms_norm_inputs(draw, 1, 2, 8)
    assert_matches(student(**inputs), reference(**inputs), what="the result for other figures")


@exercise("run_rms_norm")
def test_rms_norm_of_a_batch(student, reference, draw):
    """A batch of sequences, each token on its own."""
    inputs = rms_norm_inputs(draw, 3, 4, 8)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rms_norm", aspect="generality")
@pytest.mark.parametrize("eps", [0.1, 2.0])
def test_rms_norm_with_a_large_eps(student, reference, draw, eps):
    """An eps that is large enough to be seen."""
    inputs = rms_norm_inputs(draw, 2, 3, 8, eps=eps)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rms_norm", aspect="gradients")
def test_rms_norm_gradients(student, reference, draw):
    """Gradients reach the features and the gain."""
    inputs, cotangent = rms_norm_inputs(draw, 2, 3, 4, eps=0.5), draw(2, 3, 4)
    wrt = ("in_features", "weight")
    assert_gradients_match(student, reference, cotangent, wrt=wrt, **inputs)


@exercise("run_rms_norm", aspect="discipline")
def test_rms_norm_leaves_its_inputs_alone(student, draw):
    """The caller's tensors are the same after the call."""
    assert_inputs_unchanged(student, **rms_norm_inputs(draw, 2, 3, 4))
