"""SwiGLU: the tests that you have at home."""

import pytest
import torch
from tests.public.inputs import swiglu

from grader.testing import assert_matches, assert_work_does_not_grow, exercise
from tests.public.tolerances import ROUNDED


@exercise("run_swiglu")
def test_swiglu_of_worked_figures(student, reference, draw):
    """A gate of silu(1), a projection of 2 and one of 10: 14.6212; and other figures."""
    one, x = torch.eye(2), torch.tensor([[[0.0, 1.0]]])
    expected = torch.tensor([[[0.0, 14.6212]]])
    assert_matches(student(2, 2, one, 10 * one, 2 * one, x), expected, ROUNDED)
    inputs = swiglu(draw, 2, 2) | {"in_features": draw(1, 3, 2)}
    assert_matches(student(**inputs), reference(**inputs), what="the result for other figures")


@exercise("run_swiglu")
def test_swiglu_of_a_batch(student, reference, draw):
    """A batch of sequences, through a wider space and back."""
    inputs = swiglu(draw, 8, 20) | {"in_features": draw(3, 4, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu")
def test_swiglu_of_one_width(student, reference, draw):
    """A space in between that is no wider, in which no shape tells weights apart."""
    inputs = swiglu(draw, 6, 6) | {"in_features": draw(2, 4, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu")
def test_swiglu_with_other_weights(student, reference, draw):
    """The same features with other weights have another result."""
    x, first, second = draw(2, 4, 6), swiglu(draw, 6, 9), swiglu(draw, 6, 9)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_swiglu", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3, 2)], ids=str)
def test_swiglu_with_other_leading_axes(student, reference, draw, lead):
    """A single vector, or more axes than a batch and a sequence."""
    inputs = swiglu(draw, 6, 10) | {"in_features": draw(*lead, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="efficiency")
def test_swiglu_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    weights = swiglu(draw, 6, 12)
    small, large = (weights | {"in_features": draw(n, n + 1, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
