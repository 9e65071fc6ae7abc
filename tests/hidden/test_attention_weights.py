"""Attention weights: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    exercise,
)
from tests.hidden.precision import DTYPES, WEIGHTS
from tests.hidden.telling_inputs import low_scores
from tests.public.tolerances import LARGE_SCORES


@exercise("run_attention_weights")
def test_attention_weights(student, reference, draw):
    """A batch of queries and keys, all allowed."""
    Q, K = draw(2, 6, 16), draw(2, 6, 16)
    assert_matches(student(Q, K), reference(Q, K))


@exercise("run_attention_weights")
def test_attention_weights_under_a_mask(student, reference, draw):
    """Masked keys get nothing at all, and each query's weights still sum to 1."""
    Q, K, mask = draw(2, 6, 8), draw(2, 9, 8), draw.mask(2, 6, 9, keep=0.4)
    weights = student(Q, K, mask)
    assert not weights[~mask].nan_to_num().any(), "a masked key has a weight other than 0"
    assert_matches(weights.sum(dim=-1), torch.ones(2, 6), what="the sum of each query's weights")
    assert_matches(weights, reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 70), (70, 1), (70, 64)], ids=str)
def test_attention_weights_of_few_and_many(student, reference, draw, queries, keys):
    """One query, one key, many of either; a mask for each leading axis, and one for all."""
    Q, K = draw(1, 3, queries, 3), draw(1, 3, keys, 3)
    for mask in (draw.mask(1, 3, queries, keys), draw.mask(queries, keys)):
        assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
@pytest.mark.parametrize("mask_lead", [(), (3,), (2, 1)], ids=str)
def test_attention_weights_under_a_shared_mask(student, reference, draw, mask_lead):
    """A mask with fewer or shorter leading axes holds for all of them; it may hide nothing."""
    Q, K, mask = draw(2, 3, 4, 6), draw(2, 3, 5, 6), draw.mask(*mask_lead, 4, 5)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))
    nothing = torch.ones_like(mask)
    what = "the weights under a mask that hides nothing"
    assert_matches(student(Q, K, nothing), reference(Q, K, nothing), what=what)


@exercise("run_attention_weights", aspect="numerics")
@pytest.mark.parametrize("keys", [3, 6])
def test_attention_weights_with_large_scores(student, reference, draw, keys):
    """Scores of plus and minus ten thousand give no NaN, for no query beside small ones either."""
    Q = torch.cat((torch.full((2, 4, 1), 200.0), draw.integers(-2, 3, 2, 4, 15)), dim=-1)
    Q[:, 2] = 0.0
    signs = 2 * draw.integers(0, 2, 2, keys, 1) - 1
    K = torch.cat((200.0 * signs, draw.integers(-2, 3, 2, keys, 15)), dim=-1)
    assert_matches(student(Q, K), reference(Q, K), LARGE_SCORES)


@exercise("run_attention_weights", aspect="numerics")
def test_attention_weights_with_a_far_larger_masked_score(student, reference, draw):
    """A masked key with the largest score by far leaves the others their shares."""
    Q, K = draw(2, 4, 6).abs(), draw(2, 5, 6)
    K[:, 2] = 300.0
    mask = torch.ones(2, 4, 5, dtype=torch.bool)
    mask[:, :, 2] = False
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="numerics")
def test_attention_weights_with_very_low_scores(student, reference, draw):
    """A masked key gets nothing, however low the scores of the others are."""
    Q, K, mask = low_scores(draw, 2, 4, 6)
    assert_matches(student(Q, K, mask), reference(Q, K, mask), LARGE_SCORES)


@exercise("run_attention_weights", aspect="numerics")
def test_attention_weights_keep_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        Q, K, mask = draw(2, 4, 8, dtype=dtype), draw(2, 5, 8, dtype=dtype), draw.mask(2, 4, 5)
        actual = student(Q, K, mask)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(Q, K, mask), WEIGHTS[dtype])


@exercise("run_attention_weights", aspect="gradients")
def test_attention_weights_gradients(student, reference, draw):
    """Gradients reach queries and keys, and are numbers where keys are masked."""
    inputs = {"Q": draw(2, 4, 6), "K": draw(2, 5, 6), "mask": draw.mask(2, 4, 5)}
    cotangent = draw(2, 4, 5)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K"), **inputs)


@exercise("run_attention_weights", aspect="gradients")
def test_attention_weights_gradients_beside_a_far_larger_masked_score(student, reference, draw):
    """A masked key with the largest score by far makes no gradient infinite or NaN."""
    inputs = {"Q": draw(2, 4, 6).abs(), "K": draw(2, 5, 6)}
    inputs["K"][:, 2] = 300.0
    inputs["mask"] = (torch.arange(5) != 2).expand(2, 4, 5)
    cotangent = draw(2, 4, 5)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K"), **inputs)


@exercise("run_attention_weights", aspect="discipline")
def test_attention_weights_are_good_guests(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    Q, K, mask = draw(2, 4, 6), draw(2, 5, 6), draw.mask(2, 4, 5)
    assert_inputs_unchanged(student, Q, K, mask)
    Q, K, mask = draw(2, 13, 6), draw(2, 11, 6), draw.mask(2, 13, 11)
    assert_runs_on_another_device(student, Q, K, mask)
