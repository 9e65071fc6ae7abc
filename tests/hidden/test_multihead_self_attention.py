"""Multi-head self-attention: what the grade looks at beyond the public tests."""

import pytest

from grader.testing import (
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    exercise,
)
from tests.hidden.precision import DTYPES
from tests.hidden.telling_inputs import UNCHANGED, change_from, sharp_multihead, strided
from tests.public.tolerances import LARGE_SCORES
from tests.public.weights import multihead


@exercise("run_multihead_self_attention")
@pytest.mark.parametrize(("d_model", "num_heads"), [(16, 4), (32, 2)], ids=str)
def test_multihead_self_attention(student, reference, draw, d_model, num_heads):
    """A batch of sequences through several heads."""
    inputs = multihead(draw, d_model, num_heads) | {"in_features": draw(2, 7, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (1,), (1, 2, 3)], ids=str)
def test_multihead_self_attention_of_any_depth(student, reference, draw, lead):
    """Any number of leading axes."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(*lead, 5, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(8, 1, 5), (6, 6, 1), (15, 3, 70), (8, 4, 4)], ids=str)
def test_multihead_self_attention_of_other_sizes(student, reference, draw, sizes):
    """One head, one token, as many heads as features or tokens, odd sizes, many tokens."""
    d_model, num_heads, seq = sizes
    inputs = multihead(draw, d_model, num_heads) | {"in_features": draw(2, seq, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("position", [1, 5])
def test_multihead_self_attention_is_causal(student, reference, draw, position):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = multihead(draw, 8, 2), draw(2, 6, 8), draw(2, 6, 8)
    changed = change_from(position, x, change)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    before = (slice(None), slice(position))
    assert_matches(second[before], first[before], what=UNCHANGED)
    assert_matches(second, reference(**weights, in_features=changed))


@exercise("run_multihead_self_attention", aspect="generality")
def test_multihead_self_attention_of_tokens_of_zeros(student, reference, draw):
    """A token of zeros has a score of zero with every token, and hides none."""
    weights, x = multihead(draw, 8, 2), draw(2, 5, 8)
    inputs = weights | {"in_features": change_from(3, x, -x)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="numerics")
@pytest.mark.parametrize(("num_heads", "sign"), [(1, 1), (2, 1), (2, -1)])
def test_multihead_self_attention_with_large_scores(student, reference, draw, num_heads, sign):
    """Scores of more than ten thousand, or as far below zero, give no NaN."""
    inputs = sharp_multihead(8, num_heads) | {"in_features": draw.integers(-3, 4, 2, 6, 8).float()}
    inputs["q_proj_weight"] *= sign
    assert_matches(student(**inputs), reference(**inputs), LARGE_SCORES)


@exercise("run_multihead_self_attention", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_multihead_self_attention_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    inputs = multihead(draw, 8, 2, dtype) | {"in_features": draw(2, 5, 8, dtype=dtype)}
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_multihead_self_attention", aspect="discipline")
@pytest.mark.parametrize("check", [assert_same_answer_twice, assert_runs_on_another_device])
def test_multihead_self_attention_is_a_good_guest(student, draw, check):
    """A second call returns the same, and everything stays where it is, be it on a GPU."""
    check(student, **multihead(draw, 8, 2), in_features=draw(2, 5, 8))


@exercise("run_multihead_self_attention", aspect="discipline")
def test_multihead_self_attention_of_strided_inputs(student, reference, draw):
    """Inputs need not be contiguous in memory: tokens are transposed and expanded."""
    inputs = multihead(draw, 8, 2)
    inputs["q_proj_weight"] = inputs["q_proj_weight"].T
    inputs["in_features"] = strided(draw, 2, 5, 8).expand(3, 2, 5, 8)
    assert_matches(student(**inputs), reference(**inputs))
