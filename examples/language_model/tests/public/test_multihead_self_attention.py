"""Multi-head self-attention: the tests that you have at home."""

import pytest
import torch
from tests.public.inputs import multihead

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_matches,
    assert_work_does_not_grow,
    exercise,
)


@exercise("run_multihead_self_attention")
@pytest.mark.parametrize("num_heads", [2, 4])
def test_multihead_self_attention_of_a_batch(student, reference, draw, num_heads):
    """A batch of sequences through several heads."""
    inputs = multihead(draw, 16, num_heads) | {"in_features": draw(3, 6, 16)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention")
def test_multihead_self_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 5, 8), multihead(draw, 8, 2), multihead(draw, 8, 2)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_multihead_self_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    inputs = multihead(draw, 12, 3) | {"in_features": draw(*lead, 5, 12)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
def test_multihead_self_attention_looks_at_the_past_only(student, reference, draw):
    """A change in the last two tokens changes nothing before them."""
    weights, before, change = multihead(draw, 8, 2), draw(2, 6, 8), draw(2, 2, 8)
    after = torch.cat((before[:, :4], before[:, 4:] + change), dim=1)
    first = student(**weights, in_features=before)
    second = student(**weights, in_features=after)
    what = "the first four outputs, which later tokens must not change,"
    assert_matches(second[:, :4], first[:, :4], what=what)
    assert_matches(second, reference(**weights, in_features=after))


@exercise("run_multihead_self_attention", aspect="gradients")
def test_multihead_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(2, 5, 8)}
    cotangent = draw(2, 5, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_multihead_self_attention", aspect="discipline")
def test_multihead_self_attention_leaves_its_inputs_alone(student, draw):
    """The caller's tensors, weights included, are the same after the call."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(2, 5, 8)}
    assert_inputs_unchanged(student, **inputs)


@exercise("run_multihead_self_attention", aspect="efficiency")
def test_multihead_self_attention_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors; a loop over heads is no harm."""
    weights = multihead(draw, 8, 2)
    small, large = (weights | {"in_features": draw(n, 2 * n, 8)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
