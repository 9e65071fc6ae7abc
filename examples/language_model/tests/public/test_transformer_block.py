"""The Transformer block: the tests that you have at home."""

import pytest
from tests.public.inputs import away_from_zero, block

from grader.testing import assert_gradients_match, assert_inputs_unchanged, assert_matches, exercise
from tests.public.tolerances import OF_A_MODEL


@exercise("run_transformer_block")
@pytest.mark.parametrize("num_heads", [2, 4])
def test_block_of_a_batch(student, reference, draw, num_heads):
    """A batch of sequences of fewer tokens than there are positions."""
    inputs = block(draw, 16, num_heads, 40, 8) | {"in_features": draw(3, 6, 16)}
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_block")
def test_block_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 5, 8), block(draw, 8, 2, 8, 5), block(draw, 8, 2, 8, 5)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x), OF_A_MODEL)
    assert_matches(after, reference(**second, in_features=x), OF_A_MODEL)


@exercise("run_transformer_block", aspect="generality")
def test_block_with_another_theta(student, reference, draw):
    """The base of the frequencies is what the caller says."""
    inputs = block(draw, 12, 3, 20, 6, theta=50.0) | {"in_features": draw(1, 6, 12)}
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_block", aspect="gradients")
def test_block_gradients(student, reference, draw):
    """Gradients reach the tokens, which are so large that nothing hangs on eps."""
    features, cotangent = away_from_zero(draw(2, 5, 8), 1.0), draw(2, 5, 8)
    inputs = block(draw, 8, 2, 12, 5) | {"in_features": features}
    assert_gradients_match(
        student, reference, cotangent, wrt=("in_features",), tolerance=OF_A_MODEL, **inputs
    )


@exercise("run_transformer_block", aspect="discipline")
def test_block_leaves_its_inputs_alone(student, draw):
    """The caller's tokens and weights are the same after the call."""
    assert_inputs_unchanged(student, **block(draw, 8, 2, 12, 5), in_features=draw(2, 5, 8))
