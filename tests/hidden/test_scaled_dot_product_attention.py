"""Scaled dot-product attention: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    exercise,
)
from tests.hidden.precision import DTYPES
from tests.hidden.telling_inputs import low_scores
from tests.public.tolerances import LARGE_SCORES


@exercise("run_scaled_dot_product_attention")
@pytest.mark.parametrize("keys", [4, 6])
def test_attention(student, reference, draw, keys):
    """A batch of six queries with fewer and with as many keys."""
    Q, K, V = draw(2, 6, 16), draw(2, keys, 16), draw(2, keys, 16)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention")
def test_attention_under_a_mask(student, reference, draw):
    """A batch of queries and keys under a mask; values are narrower than keys."""
    Q, K, V = draw(2, 6, 16), draw(2, 9, 16), draw(2, 9, 10)
    mask = draw.mask(2, 6, 9, keep=0.5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (1,), (1, 3, 2)], ids=str)
def test_attention_of_any_depth(student, reference, draw, lead):
    """Any number of leading axes, and values wider than keys."""
    Q, K, V = draw(*lead, 3, 5), draw(*lead, 4, 5), draw(*lead, 4, 7)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(1, 70, 3, 2), (70, 1, 3, 2), (3, 3, 1, 1)], ids=str)
def test_attention_of_single_things(student, reference, draw, sizes):
    """A single query for many keys, a single key for many queries, a single feature."""
    queries, keys, d_k, d_v = sizes
    Q, K, V = draw(2, queries, d_k), draw(2, keys, d_k), draw(2, keys, d_v)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("mask_lead", [(), (3,), (2, 1)], ids=str)
def test_attention_under_a_shared_mask(student, reference, draw, mask_lead):
    """A mask with fewer or shorter leading axes holds for all of them; it may hide nothing."""
    Q, K, V = draw(2, 3, 4, 6), draw(2, 3, 5, 6), draw(2, 3, 5, 6)
    mask = draw.mask(*mask_lead, 4, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))
    nothing = torch.ones_like(mask)
    what = "the result under a mask that hides nothing"
    assert_matches(student(Q, K, V, nothing), reference(Q, K, V, nothing), what=what)


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("mask_lead", [(), (2, 3)], ids=str)
def test_attention_of_many_queries_under_a_mask(student, reference, draw, mask_lead):
    """Many queries and keys, under one mask for all leading axes, or one for each."""
    Q, K, V = draw(2, 3, 70, 4), draw(2, 3, 64, 4), draw(2, 3, 64, 3)
    mask = draw.mask(*mask_lead, 70, 64)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_to_one_key_each(student, reference, draw):
    """A query that may see a single key gets that key's value."""
    Q, K, V, seen = draw(2, 6, 8), draw(2, 6, 8), draw(2, 6, 8), draw.permutation(6)
    mask = torch.eye(6, dtype=torch.bool)[seen].expand(2, 6, 6)
    actual = student(Q, K, V, mask)
    assert_matches(actual, V[:, seen])
    assert_matches(actual, reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_under_masks_that_are_almost_causal(student, reference, draw):
    """A causal mask with holes in the middle, and one that lets tokens see their whole block."""
    Q, K, V = draw(2, 6, 8), draw(2, 6, 8), draw(2, 6, 8)
    holes, block = torch.ones(6, 6).tril().bool(), torch.arange(6) // 2
    holes[3, 1] = holes[4, 0] = False
    for mask in (holes, block[:, None] >= block):
        assert_matches(student(Q, K, V, mask.expand(2, 6, 6)), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_that_does_not_see_the_first_keys(student, reference, draw):
    """Of many keys, a query may see the last ones only; in one sequence the last scores most."""
    Q, K, V = draw(2, 3, 4).abs(), draw(2, 140, 4), draw(2, 140, 3)
    K[0, -1], first = 5.0, torch.tensor([0, 65, 130])
    mask = (torch.arange(140) >= first[:, None]).expand(2, 3, 140)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_does_not_see_padding(student, reference, draw):
    """Large numbers in masked keys and values of the shorter sequences make no difference."""
    Q, K, V = draw(3, 4, 6), draw(3, 7, 6), draw(3, 7, 6)
    mask = (torch.arange(7) < torch.tensor([7, 5, 2])[:, None, None]).expand(3, 4, 7)
    factor = torch.where(mask[:, 0, :, None], 1.0, 9.0)
    assert_matches(student(Q, factor * K, factor * V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_does_not_care_for_the_order_of_keys(student, reference, draw):
    """Keys, values and mask may be shuffled together."""
    Q, K, V, mask = draw(2, 4, 6), draw(2, 7, 6), draw(2, 7, 6), draw.mask(2, 4, 7)
    order = draw.permutation(7)
    first = student(Q, K, V, mask)
    second = student(Q, K[:, order], V[:, order], mask[:, :, order])
    assert_matches(second, first, what="the result with shuffled keys")
    assert_matches(first, reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_very_large_scores(student, reference, draw):
    """Scores of plus and minus ten thousand give no NaN, with a mask either.

    One query's scores are 0, and each other one sees a key of plus ten thousand: how a mask fares
    among low scores has a test below.
    """
    Q = torch.cat((torch.full((2, 4, 1), 200.0), draw.integers(-2, 3, 2, 4, 15)), dim=-1)
    Q[:, 2] = 0.0
    signs = 2 * draw.integers(0, 2, 2, 6, 1) - 1
    signs[:, 0] = 1
    K = torch.cat((200.0 * signs, draw.integers(-2, 3, 2, 6, 15)), dim=-1)
    V, mask = draw(2, 6, 3), draw.mask(2, 4, 6)
    mask[..., 0] = True
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask), LARGE_SCORES)


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_very_low_scores(student, reference, draw):
    """A masked key is not seen, however low the scores of the others are."""
    Q, K, mask = low_scores(draw, 2, 4, 6)
    V = draw(2, 6, 3)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask), LARGE_SCORES)


@exercise("run_scaled_dot_product_attention", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_attention_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    Q, K, V = draw(2, 4, 8, dtype=dtype), draw(2, 6, 8, dtype=dtype), draw(2, 6, 8, dtype=dtype)
    mask = draw.mask(2, 4, 6)
    actual = student(Q, K, V, mask)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="gradients")
def test_attention_gradients_under_a_mask(student, reference, draw):
    """Gradients reach queries, keys and values, and are numbers where keys are masked."""
    inputs = {"Q": draw(2, 2, 4, 6), "K": draw(2, 2, 5, 6), "V": draw(2, 2, 5, 3)}
    inputs["mask"] = draw.mask(2, 2, 4, 5)
    cotangent = draw(2, 2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K", "V"), **inputs)


@exercise("run_scaled_dot_product_attention", aspect="gradients")
def test_attention_gradients_beside_a_far_larger_masked_score(student, reference, draw):
    """A masked key with the largest score by far makes no gradient infinite or NaN."""
    inputs = {"Q": draw(2, 4, 6).abs(), "K": draw(2, 5, 6), "V": draw(2, 5, 3)}
    inputs["K"][:, 2] = 300.0
    inputs["mask"] = (torch.arange(5) != 2).expand(2, 4, 5)
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K", "V"), **inputs)


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_on_another_device(student, draw):
    """The inputs may lie on a GPU."""
    Q, K, V, mask = draw(2, 13, 6), draw(2, 11, 6), draw(2, 11, 3), draw.mask(2, 13, 11)
    assert_runs_on_another_device(student, Q, K, V, mask)
    assert_runs_on_another_device(student, Q, K, V)


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_of_split_heads(student, reference, draw):
    """Inputs need not be contiguous: heads are split off by a transposition."""
    Q, K, V = (draw(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
    mask = draw.mask(5, 5).T.contiguous().T.expand(2, 3, 5, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_is_the_same_twice(student, draw):
    """A second call returns the same."""
    assert_same_answer_twice(student, draw(2, 4, 6), draw(2, 5, 6), draw(2, 5, 3))
