"""The embedding: the tests that you have at home."""

import pytest
import torch
from tests.public.inputs import embedding

from grader.testing import assert_matches, assert_work_does_not_grow, exercise


@exercise("run_embedding")
def test_embedding_of_worked_tokens(student, reference, draw):
    """The last row of three, then the first; and the rows of other tokens."""
    weights = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ids, expected = torch.tensor([[2, 0]]), torch.tensor([[[5.0, 6.0], [1.0, 2.0]]])
    assert_matches(student(3, 2, weights, ids), expected)
    inputs = embedding(draw, 7, 3, 1, 6)
    assert_matches(student(**inputs), reference(**inputs), what="the vectors of other tokens")


@exercise("run_embedding")
def test_embedding_of_a_batch(student, reference, draw):
    """A batch of sequences of token ids."""
    inputs = embedding(draw, 20, 8, 3, 5)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_embedding")
def test_embedding_with_other_weights(student, reference, draw):
    """The same tokens with other weights have other vectors."""
    first, second = embedding(draw, 9, 6, 2, 4), embedding(draw, 9, 6, 2, 4)
    second["token_ids"] = first["token_ids"]
    before, after = student(**first), student(**second)
    assert_matches(before, reference(**first))
    assert_matches(after, reference(**second))


@exercise("run_embedding", aspect="generality")
@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 2)], ids=str)
def test_embedding_of_any_shape(student, reference, draw, shape):
    """One token, one sequence, or more axes than a batch and a sequence."""
    inputs = embedding(draw, 11, 4, *shape)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_embedding", aspect="efficiency")
def test_embedding_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    small, large = (embedding(draw, 5, 8, n, 2 * n) for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
