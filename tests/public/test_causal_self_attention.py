"""Causal self-attention: the tests that you have at home."""

import pytest

from grader.testing import assert_matches, exercise
from tests.public.tolerances import ROUNDED
from tests.public.weights import projections
from tests.public.worked_example import OF_OTHER_TOKENS, TOKENS, batch_of_two
from tests.public.worked_heads import CAUSAL_CONTEXTS, W_KEY, W_QUERY, W_VALUE


@exercise("run_causal_self_attention")
def test_causal_self_attention_of_worked_tokens(student, reference, draw):
    """The worked example's first head, and what it makes of other tokens."""
    weights, others = (W_QUERY[0], W_KEY[0], W_VALUE[0]), draw.uniform(2, 6, 3)
    actual = student(*weights, batch_of_two(TOKENS))
    assert_matches(actual, batch_of_two(CAUSAL_CONTEXTS[:, :2]), ROUNDED)
    assert_matches(student(*weights, others), reference(*weights, others), what=OF_OTHER_TOKENS)


@exercise("run_causal_self_attention")
def test_causal_self_attention_of_a_batch(student, reference, draw):
    """A batch of sequences with weights from 6 to 4 features."""
    inputs = projections(draw, 6, 4) | {"in_features": draw(3, 5, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention")
def test_causal_self_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 5, 6), projections(draw, 6, 4), projections(draw, 6, 4)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_causal_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_causal_self_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    inputs = projections(draw, 3, 5) | {"in_features": draw(*lead, 4, 3)}
    assert_matches(student(**inputs), reference(**inputs))
