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
from tests.public.worked_example import OF_OTHER_TOKENS, TOKENS, batch_of_two, projected
from tests.public.worked_heads import W_KEY, W_QUERY, W_VALUE


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
def test_attention_of_worked_tokens(student, reference, draw):
    """The context vectors of the worked example's first head, without a mask; other tokens'."""
    contexts = torch.tensor(
        [
            [-0.5337, -0.1051],
            [-0.5323, -0.1080],
            [-0.5323, -0.1079],
            [-0.5297, -0.1076],
            [-0.5311, -0.1066],
            [-0.5299, -0.1081],
        ]
    )
    Q, K, V = (batch_of_two(projected(TOKENS, W[0])) for W in (W_QUERY, W_KEY, W_VALUE))
    assert_matches(student(Q, K, V), batch_of_two(contexts), ROUNDED)
    others = draw.uniform(2, 6, 3)
    Q, K, V = (projected(others, W[0]) for W in (W_QUERY, W_KEY, W_VALUE))
    assert_matches(student(Q, K, V), reference(Q, K, V), what=OF_OTHER_TOKENS)


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or a batch and heads."""
    Q, K, V = draw(*lead, 5, 8), draw(*lead, 4, 8), draw(*lead, 4, 6)
    mask = draw.mask(*lead, 5, 4)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_with_one_mask_for_all(student, reference, draw):
    """A mask without leading axes holds for the whole batch."""
    Q, K, V, mask = draw(3, 5, 8), draw(3, 5, 8), draw(3, 5, 8), draw.mask(5, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_large_scores(student, reference, draw):
    """Scores of thousands give no NaN."""
    Q, K, V = (
        100.0 * draw.integers(-3, 4, 2, 5, 4),
        5.0 * draw.integers(-3, 4, 2, 6, 4),
        draw(2, 6, 3),
    )
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
    small = {"Q": draw(2, 4, 8), "K": draw(2, 4, 8), "V": draw(2, 4, 8)}
    large = {"Q": draw(8, 16, 8), "K": draw(8, 16, 8), "V": draw(8, 16, 8)}
    assert_work_does_not_grow(student, reference, small, large)
