"""The SiLU: the tests that you have at home."""

import pytest
import torch

from grader.testing import assert_matches, exercise
from tests.public.tolerances import ROUNDED


@exercise("run_silu")
def test_silu_of_worked_figures(student, reference, draw):
    """Each number times its own sigmoid: four worked figures, and four others."""
    x, others = torch.tensor([[-4.0, -1.0, 0.0, 1.0]]), draw(1, 4)
    assert_matches(student(x), torch.tensor([[-0.0719, -0.2689, 0.0, 0.7311]]), ROUNDED)
    assert_matches(student(others), reference(others), what="the result for other figures")


@exercise("run_silu")
def test_silu_of_a_batch(student, reference, draw):
    """A batch of vectors."""
    x = draw(3, 8, scale=2.0)
    assert_matches(student(x), reference(x))


@exercise("run_silu", aspect="generality")
@pytest.mark.parametrize("shape", [(), (2, 3, 2, 2)], ids=str)
def test_silu_of_any_shape(student, reference, draw, shape):
    """One number, or many axes."""
    x = draw(*shape)
    assert_matches(student(x), reference(x))
