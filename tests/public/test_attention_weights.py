"""Attention weights: the tests that you have at home."""

import pytest
import torch

from grader.testing import assert_matches, assert_work_does_not_grow, exercise
from tests.public.tolerances import ROUNDED
from tests.public.worked_example import (
    OF_OTHER_TOKENS,
    TOKENS,
    W_KEY,
    W_QUERY,
    batch_of_two,
    projected,
)


@exercise("run_attention_weights")
def test_attention_weights_of_the_worked_query(student, reference, draw):
    """The second token's weights in the worked example, and the weights of other tokens."""
    queries, keys = projected(TOKENS, W_QUERY), projected(TOKENS, W_KEY)
    weights = torch.tensor([0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820])
    actual = student(batch_of_two(queries), batch_of_two(keys))
    assert_matches(actual[:, 1], batch_of_two(weights), ROUNDED)
    others = draw.uniform(2, 6, 3)
    queries, keys = projected(others, W_QUERY), projected(others, W_KEY)
    assert_matches(student(queries, keys), reference(queries, keys), what=OF_OTHER_TOKENS)


@exercise("run_attention_weights")
def test_attention_weights_without_mask(student, reference, draw):
    """A batch of queries and keys, all allowed."""
    Q, K = draw(3, 5, 8), draw(3, 7, 8)
    assert_matches(student(Q, K), reference(Q, K))


@exercise("run_attention_weights")
def test_attention_weights_with_mask(student, reference, draw):
    """A batch of queries and keys under a mask."""
    Q, K, mask = draw(3, 5, 8), draw(3, 7, 8), draw.mask(3, 5, 7)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_attention_weights_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    Q, K, mask = draw(*lead, 4, 6), draw(*lead, 3, 6), draw.mask(*lead, 4, 3)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
def test_one_mask_for_the_whole_batch(student, reference, draw):
    """A mask without the batch axis holds for every sequence of the batch."""
    Q, K, mask = draw(3, 5, 8), draw(3, 7, 8), draw.mask(5, 7)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="efficiency")
def test_attention_weights_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors."""
    small = {"Q": draw(2, 4, 8), "K": draw(2, 4, 8), "mask": draw.mask(2, 4, 4)}
    large = {"Q": draw(8, 16, 8), "K": draw(8, 16, 8), "mask": draw.mask(8, 16, 16)}
    assert_work_does_not_grow(student, reference, small, large)
