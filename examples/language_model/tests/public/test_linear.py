"""The linear layer: the tests that you have at home."""

import pytest
import torch
from tests.public.inputs import linear

from grader.testing import assert_matches, assert_work_does_not_grow, exercise


@exercise("run_linear")
def test_linear_of_worked_figures(student, reference, draw):
    """Two features and their sum; and what other weights make of others."""
    weights = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    x = torch.tensor([[[3.0, 4.0], [-1.0, 2.0]]])
    expected = torch.tensor([[[3.0, 4.0, 7.0], [-1.0, 2.0, 1.0]]])
    assert_matches(student(2, 3, weights, x), expected)
    inputs = linear(draw, 2, 3) | {"in_features": draw(1, 2, 2)}
    assert_matches(student(**inputs), reference(**inputs), what="the result for other figures")


@exercise("run_linear")
@pytest.mark.parametrize(("d_in", "d_out"), [(8, 8), (6, 10)], ids=str)
def test_linear_of_a_batch(student, reference, draw, d_in, d_out):
    """A batch of sequences, with as many features as before or more."""
    inputs = linear(draw, d_in, d_out) | {"in_features": draw(3, 4, d_in)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_linear")
def test_linear_with_other_weights(student, reference, draw):
    """The same features with other weights have another result."""
    x, first, second = draw(2, 4, 6), linear(draw, 6, 6), linear(draw, 6, 6)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_linear", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3, 2)], ids=str)
def test_linear_with_other_leading_axes(student, reference, draw, lead):
    """A single vector, or more axes than a batch and a sequence."""
    inputs = linear(draw, 6, 6) | {"in_features": draw(*lead, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_linear", aspect="efficiency")
def test_linear_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    weights = linear(draw, 6, 4)
    small, large = (weights | {"in_features": draw(n, n + 1, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
