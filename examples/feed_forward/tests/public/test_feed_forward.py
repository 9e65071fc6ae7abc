"""Part 2, the feed-forward layer: SiLU and SwiGLU."""

import pytest
import torch

from grader.testing import Tolerance, assert_matches, assert_work_does_not_grow, exercise

ROUNDED = Tolerance(rtol=0.0, atol=2e-4)


def swiglu_inputs(draw, *shape, d_ff=12):
    d_model = shape[-1]
    return {
        "gate_weight": draw(d_ff, d_model, scale=d_model**-0.5),
        "up_weight": draw(d_ff, d_model, scale=d_model**-0.5),
        "down_weight": draw(d_model, d_ff, scale=d_ff**-0.5),
        "in_features": draw(*shape),
    }


# --- run_silu -----------------------------------------------------------------------------------


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


# --- run_swiglu ---------------------------------------------------------------------------------


@exercise("run_swiglu")
def test_swiglu_of_worked_figures(student, reference, draw):
    """A gate of silu(1), a projection of 2 and one of 10: 14.6212; and other figures."""
    one, x = torch.eye(2), torch.tensor([[[0.0, 1.0]]])
    expected = torch.tensor([[[0.0, 14.6212]]])
    assert_matches(student(one, 2 * one, 10 * one, x), expected, ROUNDED)
    inputs = swiglu_inputs(draw, 1, 1, 2, d_ff=2)
    assert_matches(student(**inputs), reference(**inputs), what="the result for other figures")


@exercise("run_swiglu")
def test_swiglu_of_a_batch(student, reference, draw):
    """A batch of sequences, through a wider space and back."""
    inputs = swiglu_inputs(draw, 3, 4, 8)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3, 2)], ids=str)
def test_swiglu_with_other_leading_axes(student, reference, draw, lead):
    """A single vector, or more axes than a batch and a sequence."""
    inputs = swiglu_inputs(draw, *lead, 6)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_swiglu", aspect="efficiency")
def test_swiglu_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    small, large = swiglu_inputs(draw, 2, 3, 6), swiglu_inputs(draw, 6, 9, 6)
    assert_work_does_not_grow(student, reference, small, large)
