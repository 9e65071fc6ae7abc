"""Causal self-attention: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import DTYPES
from tests.hidden.telling_inputs import UNCHANGED, change_from, strided
from tests.public.tolerances import LARGE_SCORES
from tests.public.weights import projections


@exercise("run_causal_self_attention")
def test_causal_self_attention(student, reference, draw):
    """A batch of sequences with weights from 5 to 8 features."""
    inputs = projections(draw, 5, 8) | {"in_features": draw(2, 7, 5)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention", aspect="generality")
@pytest.mark.parametrize("shape", [(2, 1, 4), (1, 4), (70, 4), (1, 5, 4), (1, 2, 3, 4)], ids=str)
def test_causal_self_attention_of_any_shape(student, reference, draw, shape):
    """Any leading axes; a single token, and many; a batch of one."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention", aspect="generality")
def test_causal_self_attention_looks_at_the_past_only(student, reference, draw):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = projections(draw, 4, 4), draw(2, 6, 4), draw(2, 6, 4)
    changed = change_from(3, x, change)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    assert_matches(second[:, :3], first[:, :3], what=UNCHANGED)
    # Hidden scores of thousands must not count before they are hidden.
    far = student(**weights, in_features=change_from(3, x, 1_000.0 * change))
    assert_matches(far[:, :3], first[:, :3], what=UNCHANGED)
    assert_matches(second, reference(**weights, in_features=changed))


@exercise("run_causal_self_attention", aspect="generality")
def test_causal_self_attention_of_tokens_of_zeros(student, reference, draw):
    """A token of zeros has a score of zero with every token, and hides none."""
    weights, x = projections(draw, 4, 3), draw(2, 5, 4)
    inputs = weights | {"in_features": change_from(3, x, -x)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention", aspect="numerics")
@pytest.mark.parametrize("sign", [1, -1])
def test_causal_self_attention_with_large_scores(student, reference, draw, sign):
    """Scores of many thousands give no NaN: the first token's is alone, far above zero or below."""
    one = torch.eye(4)
    inputs = {"W_query": sign * 1_000.0 * one, "W_key": one, "W_value": one}
    inputs["in_features"] = draw.integers(1, 4, 2, 6, 4).float()
    assert_matches(student(**inputs), reference(**inputs), LARGE_SCORES)


@exercise("run_causal_self_attention", aspect="numerics")
def test_causal_self_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        x = draw(2, 5, 4, dtype=dtype, scale=0.5)
        inputs = projections(draw, 4, 4, dtype=dtype) | {"in_features": x}
        actual = student(**inputs)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs))


@exercise("run_causal_self_attention", aspect="gradients")
def test_causal_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens, and are numbers."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 4, 4, scale=0.5)}
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_causal_self_attention", aspect="gradients")
def test_causal_self_attention_gradients_before_a_far_larger_score(student, reference, draw):
    """A later token with the largest score by far makes no gradient infinite or NaN."""
    one = torch.eye(4)
    inputs = {"W_query": one, "W_key": one, "W_value": draw(4, 4), "in_features": draw(2, 4, 4)}
    inputs["in_features"].abs_()[:, 2:] = 300.0
    cotangent = draw(2, 4, 4)
    cotangent[:, 2:] = 0.0
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_causal_self_attention", aspect="discipline")
def test_causal_self_attention_is_a_good_guest(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 5, 4)}
    assert_inputs_unchanged(student, **inputs)
    assert_runs_on_another_device(student, **inputs | {"in_features": draw(2, 13, 4)})


@exercise("run_causal_self_attention", aspect="discipline")
def test_causal_self_attention_of_strided_inputs(student, reference, draw):
    """Tokens and weights need not be contiguous in memory."""
    weights = {name: weight.mT for name, weight in projections(draw, 3, 4).items()}
    inputs = weights | {"in_features": strided(draw, 2, 3, 5, 4)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention", aspect="efficiency")
def test_causal_self_attention_without_a_loop(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors."""
    weights = projections(draw, 6, 6)
    small, large = (weights | {"in_features": draw(n, 2 * n, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
