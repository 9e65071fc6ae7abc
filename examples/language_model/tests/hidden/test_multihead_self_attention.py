"""Multi-head self-attention: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.inputs import multihead

from grader.testing import assert_matches, assert_same_answer_twice, exercise


@exercise("run_multihead_self_attention")
@pytest.mark.parametrize(("d_model", "num_heads"), [(16, 4), (32, 2)], ids=str)
def test_multihead_self_attention(student, reference, draw, d_model, num_heads):
    """A batch of sequences through several heads."""
    inputs = multihead(draw, d_model, num_heads) | {"in_features": draw(2, 7, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (1, 2, 3)], ids=str)
def test_multihead_self_attention_of_any_depth(student, reference, draw, lead):
    """Any number of leading axes."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(*lead, 5, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(8, 1, 5), (6, 6, 1), (15, 3, 40), (8, 4, 4)], ids=str)
def test_multihead_self_attention_of_other_sizes(student, reference, draw, sizes):
    """One head, one token, as many heads as features or tokens, odd sizes, many tokens."""
    d_model, num_heads, seq = sizes
    inputs = multihead(draw, d_model, num_heads) | {"in_features": draw(2, seq, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="numerics")
@pytest.mark.parametrize("num_heads", [1, 2])
def test_multihead_self_attention_with_large_scores(student, draw, num_heads):
    """Scores of more than ten thousand give no NaN, and averages of the tokens so far."""
    one, x = torch.eye(8), draw(2, 6, 8, scale=3.0)
    weights = {f"{which}_proj_weight": one for which in "kvo"} | {"q_proj_weight": 1_000.0 * one}
    actual = student(d_model=8, num_heads=num_heads, **weights, in_features=x)
    assert actual.isfinite().all(), "the result holds NaN or infinity"
    low, high = x.cummin(dim=1).values - 1e-4, x.cummax(dim=1).values + 1e-4
    within = (low <= actual) & (actual <= high)
    assert within.all(), "the result is no average of the tokens so far"


@exercise("run_multihead_self_attention", aspect="discipline")
def test_multihead_self_attention_is_the_same_twice(student, draw):
    """A second call returns the same."""
    assert_same_answer_twice(student, **multihead(draw, 8, 2), in_features=draw(2, 5, 8))


@exercise("run_multihead_self_attention", aspect="discipline")
def test_multihead_self_attention_of_strided_inputs(student, reference, draw):
    """Inputs need not be contiguous: tokens transposed and repeated, weights transposed."""
    inputs = multihead(draw, 8, 2)
    inputs["q_proj_weight"] = inputs["q_proj_weight"].T
    inputs["in_features"] = draw(5, 2, 8).transpose(0, 1).expand(3, 2, 5, 8)[:, 0]
    assert_matches(student(**inputs), reference(**inputs))
