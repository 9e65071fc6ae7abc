"""Multi-head attention: the tests that you have at home."""

import pytest

from grader.testing import assert_matches, exercise
from tests.public.weights import multihead


@exercise("run_multihead_attention")
def test_multihead_attention_to_itself(student, reference, draw):
    """Query, key and value are one sequence, and all tokens see all."""
    x = draw(3, 6, 16)
    inputs = multihead(draw, 16, 4) | {"query": x, "key": x, "value": x, "is_causal": False}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention")
def test_multihead_attention_to_itself_causal(student, reference, draw):
    """Query, key and value are one sequence, and no token sees a later one."""
    x = draw(3, 6, 16)
    inputs = multihead(draw, 16, 4) | {"query": x, "key": x, "value": x, "is_causal": True}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention")
def test_multihead_attention_to_another_sequence(student, reference, draw):
    """Four queries attend to seven tokens of another sequence."""
    query, memory = draw(3, 4, 16), draw(3, 7, 16)
    inputs = multihead(draw, 16, 4) | {"query": query, "key": memory, "value": memory}
    assert_matches(student(**inputs, is_causal=False), reference(**inputs, is_causal=False))


@exercise("run_multihead_attention")
def test_multihead_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    query, memory = draw(2, 4, 8), draw(2, 5, 8)
    tokens = {"query": query, "key": memory, "value": memory, "is_causal": False}
    first, second = multihead(draw, 8, 2) | tokens, multihead(draw, 8, 2) | tokens
    before, after = student(**first), student(**second)
    assert_matches(before, reference(**first))
    assert_matches(after, reference(**second))


@exercise("run_multihead_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_multihead_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several; keys and values of their own."""
    query, key, value = draw(*lead, 5, 12), draw(*lead, 3, 12), draw(*lead, 3, 12)
    inputs = multihead(draw, 12, 3) | {"query": query, "key": key, "value": value}
    assert_matches(student(**inputs, is_causal=False), reference(**inputs, is_causal=False))
