"""Multi-head self-attention with RoPE: the tests that you have at home."""

import pytest
import torch
from tests.public.inputs import multihead_with_rope

from grader.testing import assert_gradients_match, assert_matches, exercise


@exercise("run_multihead_self_attention_with_rope")
@pytest.mark.parametrize("num_heads", [2, 4])
def test_multihead_with_rope_of_a_batch(student, reference, draw, num_heads):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = multihead_with_rope(draw, 16, num_heads, 8) | {"in_features": draw(3, 6, 16)}
    inputs["token_positions"] = torch.arange(6).unsqueeze(0)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope")
def test_multihead_with_rope_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    tokens = {"in_features": draw(2, 5, 8), "token_positions": torch.arange(5).unsqueeze(0)}
    first, second = (multihead_with_rope(draw, 8, 2, 5) | tokens for _ in range(2))
    before, after = student(**first), student(**second)
    assert_matches(before, reference(**first))
    assert_matches(after, reference(**second))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_without_positions(student, reference, draw):
    """No positions stand for 0, 1, 2, ..."""
    inputs = multihead_with_rope(draw, 16, 4, 8) | {"in_features": draw(3, 6, 16)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_multihead_with_rope_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several, all at the same positions."""
    inputs = multihead_with_rope(draw, 12, 3, 8) | {"in_features": draw(*lead, 5, 12)}
    inputs["token_positions"] = torch.arange(5)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_at_positions_of_each_sequence(student, reference, draw):
    """Each sequence of the batch has positions of its own, in any order."""
    inputs = multihead_with_rope(draw, 16, 2, 20) | {"in_features": draw(3, 6, 16)}
    inputs["token_positions"] = draw.integers(0, 19, 3, 6)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="gradients")
def test_multihead_with_rope_gradients(student, reference, draw):
    """Gradients reach the tokens."""
    inputs = multihead_with_rope(draw, 8, 2, 5) | {"in_features": draw(2, 5, 8)}
    inputs["token_positions"] = torch.arange(5).unsqueeze(0)
    cotangent = draw(2, 5, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)
