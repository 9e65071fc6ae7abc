"""Self-attention without weights: what the grade looks at beyond the public tests."""

import pytest

from grader.testing import (
    Tolerance,
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import DTYPES
from tests.hidden.telling_inputs import strided


@exercise("run_simple_self_attention")
def test_simple_self_attention_of_sequences(student, reference, draw):
    """A batch of sequences, each attending to itself."""
    x = draw(2, 7, 5, scale=0.7)
    assert_matches(student(x), reference(x))


@exercise("run_simple_self_attention", aspect="generality")
def test_simple_self_attention_of_one_token(student, reference, draw):
    """A single token attends to itself, in a batch of one."""
    x = draw(1, 2, 1, 4)
    assert_matches(student(x), reference(x))


@exercise("run_simple_self_attention", aspect="numerics")
@pytest.mark.parametrize("shape", [(2, 5, 4), (4, 3)], ids=str)
def test_simple_self_attention_with_large_scores(student, reference, draw, shape):
    """Scores of tens of thousands give no NaN."""
    x = 20.0 * draw.integers(-3, 4, *shape)
    assert_matches(student(x), reference(x), Tolerance(rtol=2e-3, atol=0.25))


@exercise("run_simple_self_attention", aspect="numerics")
def test_simple_self_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the input."""
    for dtype in DTYPES:
        x = draw(2, 4, 3, dtype=dtype, scale=0.5)
        actual = student(x)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(x))


@exercise("run_simple_self_attention", aspect="gradients")
def test_simple_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens, in all the parts that they play."""
    x, cotangent = draw(2, 4, 3, scale=0.5), draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), in_features=x)


@exercise("run_simple_self_attention", aspect="discipline")
def test_simple_self_attention_is_a_good_guest(student, draw):
    """The caller's tensor stays as it is, and where it is, be it on a GPU."""
    x = draw(2, 5, 4)
    assert_inputs_unchanged(student, x)
    assert_runs_on_another_device(student, draw(2, 13, 4))


@exercise("run_simple_self_attention", aspect="discipline")
def test_simple_self_attention_of_strided_tokens(student, reference, draw):
    """Tokens need not be contiguous in memory."""
    x = strided(draw, 2, 3, 5, 4)
    assert_matches(student(x), reference(x))


@exercise("run_simple_self_attention", aspect="efficiency")
def test_simple_self_attention_without_a_loop(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors."""
    small, large = {"in_features": draw(2, 4, 8)}, {"in_features": draw(8, 16, 8)}
    assert_work_does_not_grow(student, reference, small, large)
