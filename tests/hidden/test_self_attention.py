"""Self-attention with weights: what the grade looks at beyond the public tests."""

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
from tests.hidden.telling_inputs import strided
from tests.public.tolerances import LARGE_SCORES


def projections(draw, d_in, d_out, dtype=torch.float32):
    names = ("W_query", "W_key", "W_value")
    return {name: draw(d_in, d_out, scale=d_in**-0.5, dtype=dtype) for name in names}


@exercise("run_self_attention")
def test_self_attention_of_sequences(student, reference, draw):
    """A batch of sequences with weights from 5 to 8 features."""
    inputs = projections(draw, 5, 8) | {"in_features": draw(2, 7, 5)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_self_attention", aspect="generality")
@pytest.mark.parametrize(
    ("shape", "d_out"), [((2, 1, 4), 4), ((2, 5, 4), 4), ((70, 4), 2), ((1, 2, 3, 4), 1)], ids=str
)
def test_self_attention_of_any_shape(student, reference, draw, shape, d_out):
    """Any leading axes; a single token, and many; a single feature."""
    inputs = projections(draw, 4, d_out) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_self_attention", aspect="numerics")
def test_self_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        x = draw(2, 4, 4, dtype=dtype, scale=0.5)
        inputs = projections(draw, 4, 4, dtype) | {"in_features": x}
        actual = student(**inputs)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs))


@exercise("run_self_attention", aspect="numerics")
def test_self_attention_with_large_scores(student, reference, draw):
    """Scores of more than ten thousand give no NaN."""
    one = torch.eye(4)
    inputs = {"W_query": 1_000.0 * one, "W_key": one, "W_value": one}
    inputs["in_features"] = draw.integers(-3, 4, 2, 6, 4).float()
    assert_matches(student(**inputs), reference(**inputs), LARGE_SCORES)


@exercise("run_self_attention", aspect="gradients")
def test_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 4, 4, scale=0.5)}
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_self_attention", aspect="discipline")
def test_self_attention_is_a_good_guest(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 5, 4)}
    assert_inputs_unchanged(student, **inputs)
    assert_runs_on_another_device(student, **inputs | {"in_features": draw(2, 13, 4)})


@exercise("run_self_attention", aspect="discipline")
def test_self_attention_of_strided_inputs(student, reference, draw):
    """Tokens and weights need not be contiguous in memory."""
    weights = {name: weight.mT for name, weight in projections(draw, 3, 4).items()}
    inputs = weights | {"in_features": strided(draw, 2, 3, 5, 4)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_self_attention", aspect="efficiency")
def test_self_attention_without_a_loop(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors."""
    weights = projections(draw, 6, 6)
    small, large = (weights | {"in_features": draw(n, 2 * n, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
