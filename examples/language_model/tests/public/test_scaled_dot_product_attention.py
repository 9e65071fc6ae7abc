"""Scaled dot-product attention: the tests that you have at home."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_matches,
    assert_work_does_not_grow,
    exercise,
)
from tests.public.tolerances import LARGE_SCORES, ROUNDED


@exercise("run_scaled_dot_product_attention")
def test_attention_of_worked_figures(student, reference, draw):
    """Scaled scores of 0 and 1 weigh 0.2689 and 0.7311; and other figures."""
    Q = torch.tensor([[[2.0, 0.0, 0.0, 0.0]]])
    K = torch.tensor([[[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]])
    V = torch.tensor([[[0.0, 100.0], [10.0, 100.0]]])
    assert_matches(student(Q, K, V), torch.tensor([[[7.3106, 100.0]]]), ROUNDED)
    Q, K, V = draw(1, 1, 4), draw(1, 2, 4), draw(1, 2, 2)
    assert_matches(student(Q, K, V), reference(Q, K, V), what="the result for other figures")


@exercise("run_scaled_dot_product_attention")
def test_attention_without_mask(student, reference, draw):
    """A batch of queries that attend to more keys than there are queries."""
    Q, K, V = draw(3, 5, 8), draw(3, 7, 8), draw(3, 7, 8)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention")
def test_attention_with_mask(student, reference, draw):
    """A batch of queries and keys under a mask."""
    Q, K, V = draw(3, 5, 8), draw(3, 7, 8), draw(3, 7, 8)
    mask = draw.mask(3, 5, 7)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention")
def test_attention_with_as_many_queries_as_keys(student, reference, draw):
    """A batch under a mask in which no shape tells queries, keys and values apart."""
    Q, K, V = draw(2, 6, 8), draw(2, 6, 8), draw(2, 6, 8)
    mask = draw.mask(2, 6, 6)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or a batch and heads."""
    Q, K, V = draw(*lead, 5, 8), draw(*lead, 4, 8), draw(*lead, 4, 6)
    mask = draw.mask(*lead, 5, 4)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_large_scores(student, reference, draw):
    """Scores of thousands give no NaN."""
    Q = 100.0 * draw.integers(-3, 4, 2, 5, 4)
    K, V = 5.0 * draw.integers(-3, 4, 2, 6, 4), draw(2, 6, 3)
    assert_matches(student(Q, K, V), reference(Q, K, V), LARGE_SCORES)


@exercise("run_scaled_dot_product_attention", aspect="gradients")
def test_attention_gradients(student, reference, draw):
    """Gradients reach queries, keys and values."""
    inputs = {"Q": draw(2, 4, 6), "K": draw(2, 5, 6), "V": draw(2, 5, 3)}
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K", "V"), **inputs)


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_leaves_its_inputs_alone(student, draw):
    """The caller's tensors are the same after the call."""
    Q, K, V, mask = draw(2, 4, 6), draw(2, 5, 6), draw(2, 5, 3), draw.mask(2, 4, 5)
    assert_inputs_unchanged(student, Q, K, V, mask)


@exercise("run_scaled_dot_product_attention", aspect="efficiency")
def test_attention_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors."""
    small, large = (
        {"Q": draw(n, 2 * n, 8), "K": draw(n, 2 * n, 8), "V": draw(n, 2 * n, 8)} for n in (2, 8)
    )
    assert_work_does_not_grow(student, reference, small, large)
