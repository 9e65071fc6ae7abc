"""The clipping of gradients: the tests that you have at home."""

import pytest
import torch
from tests.public.clipped import clipping_matches

from grader.testing import exercise


@exercise("run_gradient_clipping")
def test_clipping_of_a_worked_example(student, reference, draw):
    """Gradients of 3 and 4 have a norm of 5, and become 1.5 and 2 where 2.5 is allowed."""
    parameters = [student.parameter(draw(1), grad=torch.tensor([one])) for one in (3.0, 4.0)]
    student(parameters, max_l2_norm=2.5)
    for parameter, right in zip(parameters, (1.5, 2.0), strict=True):
        got = float(parameter.grad)
        assert abs(got - right) < 1e-4, f"a gradient becomes {got:.4f}, where it must be {right}"
    clipping_matches(student, reference, draw, [draw(2, 2) + 2, draw(3)], 0.5)


@exercise("run_gradient_clipping")
@pytest.mark.parametrize("max_l2_norm", [0.1, 2.0])
def test_clipping_of_large_gradients(student, reference, draw, max_l2_norm):
    """All gradients are scaled by one factor, so that their norm together is the limit."""
    gradients = [draw(4, 3, scale=3.0), draw(5, scale=0.1), draw(2, 2, 2)]
    clipping_matches(student, reference, draw, gradients, max_l2_norm)


@exercise("run_gradient_clipping", aspect="generality")
def test_clipping_of_small_gradients(student, reference, draw):
    """Gradients whose norm is small enough stay as they are."""
    clipping_matches(student, reference, draw, [draw(3, 2), draw(4)], 100.0)
