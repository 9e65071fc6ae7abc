"""Stacked heads: what the grade looks at beyond the public tests."""

import pytest

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
from tests.public.weights import projections


@exercise("run_multihead_attention_stacked")
def test_stacked_heads(student, reference, draw):
    """A batch of sequences through four heads."""
    inputs = projections(draw, 4, 8, 3) | {"in_features": draw(3, 6, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="generality")
@pytest.mark.parametrize(
    ("shape", "heads"), [((2, 1, 4), 3), ((3, 5, 4), 3), ((70, 4), 2), ((1, 3, 4, 4), 1)], ids=str
)
def test_stacked_heads_of_any_shape(student, reference, draw, shape, heads):
    """Any leading axes, also as many as there are heads; one token, and many; one head."""
    inputs = projections(draw, heads, 4, 2) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="generality")
def test_stacked_heads_look_at_the_past_only(student, reference, draw):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = projections(draw, 2, 4, 3), draw(2, 6, 4), draw(2, 6, 4)
    changed = change_from(3, x, change)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    assert_matches(second[:, :3], first[:, :3], what=UNCHANGED)
    # Hidden scores of thousands must not count before they are hidden.
    far = student(**weights, in_features=change_from(3, x, 1_000.0 * change))
    assert_matches(far[:, :3], first[:, :3], what=UNCHANGED)
    assert_matches(second, reference(**weights, in_features=changed))


@exercise("run_multihead_attention_stacked", aspect="generality")
def test_stacked_heads_of_tokens_of_zeros(student, reference, draw):
    """A token of zeros has a score of zero with every token, and hides none."""
    weights, x = projections(draw, 2, 4, 3), draw(2, 5, 4)
    inputs = weights | {"in_features": change_from(3, x, -x)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="numerics")
def test_stacked_heads_keep_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        x = draw(2, 5, 4, dtype=dtype, scale=0.5)
        inputs = projections(draw, 2, 4, 3, dtype=dtype) | {"in_features": x}
        actual = student(**inputs)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="gradients")
def test_stacked_heads_gradients(student, reference, draw):
    """Gradients reach the tokens through every head."""
    inputs = projections(draw, 2, 4, 3) | {"in_features": draw(2, 4, 4, scale=0.5)}
    cotangent = draw(2, 4, 6)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_multihead_attention_stacked", aspect="discipline")
def test_stacked_heads_are_good_guests(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    inputs = projections(draw, 2, 4, 3) | {"in_features": draw(2, 5, 4)}
    assert_inputs_unchanged(student, **inputs)
    assert_runs_on_another_device(student, **inputs | {"in_features": draw(2, 13, 4)})


@exercise("run_multihead_attention_stacked", aspect="discipline")
def test_stacked_heads_of_strided_inputs(student, reference, draw):
    """Tokens and weights need not be contiguous in memory."""
    weights = {name: weight.mT for name, weight in projections(draw, 2, 3, 4).items()}
    inputs = weights | {"in_features": strided(draw, 2, 3, 5, 4)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="efficiency")
def test_stacked_heads_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors; a loop over heads is no harm."""
    weights = projections(draw, 2, 6, 3)
    small, large = (weights | {"in_features": draw(n, 2 * n, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
