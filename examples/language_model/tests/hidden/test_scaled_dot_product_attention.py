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
from tests.public.tolerances import LARGE_SCORES


@exercise("run_scaled_dot_product_attention")
@pytest.mark.parametrize("with_mask", [False, True], ids=["without mask", "with mask"])
def test_attention(student, reference, draw, with_mask):
    """A batch of queries, keys and values of ordinary sizes."""
    Q, K, V = draw(2, 6, 16), draw(2, 9, 16), draw(2, 9, 16)
    mask = draw.mask(2, 6, 9) if with_mask else None
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (1, 3, 2)], ids=str)
def test_attention_of_any_depth(student, reference, draw, lead):
    """Any number of leading axes, and values wider than keys."""
    Q, K, V = draw(*lead, 3, 5), draw(*lead, 4, 5), draw(*lead, 4, 7)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(1, 5, 3, 2), (4, 1, 3, 2), (3, 3, 1, 1)], ids=str)
def test_attention_of_single_things(student, reference, draw, sizes):
    """A single query, a single key, a single feature."""
    queries, keys, d_k, d_v = sizes
    Q, K, V = draw(2, queries, d_k), draw(2, keys, d_k), draw(2, keys, d_v)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_under_a_shared_mask(student, reference, draw):
    """A mask without leading axes holds for all of them; it may hide nothing."""
    Q, K, V, mask = draw(2, 3, 4, 6), draw(2, 3, 5, 6), draw(2, 3, 5, 6), draw.mask(4, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))
    nothing = torch.ones_like(mask)
    what = "the result under a mask that hides nothing"
    assert_matches(student(Q, K, V, nothing), reference(Q, K, V, nothing), what=what)


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_very_large_scores(student, reference, draw):
    """Scores of plus and minus ten thousand give no NaN, all of one sign and a mask neither."""
    Q = torch.cat((torch.full((3, 4, 1), 200.0), draw.integers(-2, 3, 3, 4, 15)), dim=-1)
    signs = 2 * draw.integers(0, 2, 3, 6, 1) - 1
    signs[0], signs[1] = -1, 1
    K = torch.cat((200.0 * signs, draw.integers(-2, 3, 3, 6, 15)), dim=-1)
    V, mask = draw(3, 6, 3), draw.mask(3, 4, 6)
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
@pytest.mark.parametrize("check", [assert_runs_on_another_device, assert_same_answer_twice])
def test_attention_is_a_good_guest(student, draw, check):
    """The inputs may lie on a GPU, and a second call returns the same."""
    check(student, draw(2, 4, 6), draw(2, 5, 6), draw(2, 5, 3), draw.mask(2, 4, 5))


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_of_split_heads(student, reference, draw):
    """Inputs need not be contiguous: heads are split off by a transposition."""
    Q, K, V = (draw(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
    mask = draw.mask(5, 5).T.contiguous().T.expand(2, 3, 5, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))
