"""The Transformer block: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.inputs import block

from grader.testing import (
    Tolerance,
    assert_matches,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)
from tests.public.tolerances import OF_A_MODEL

# The error of the residual is that of features of thousands.
LARGE_FEATURES = Tolerance(rtol=1e-4, atol=2e-2)
# Weights of thousands magnify what eps changes, which has a test of its own.
LARGE_WEIGHTS = Tolerance(rtol=1e-2, atol=1.0)


@exercise("run_transformer_block")
@pytest.mark.parametrize(("d_model", "num_heads", "d_ff"), [(16, 4, 16), (32, 2, 64)], ids=str)
def test_block(student, reference, draw, d_model, num_heads, d_ff):
    """A batch of sequences."""
    inputs = block(draw, d_model, num_heads, d_ff, 10) | {"in_features": draw(2, 7, d_model)}
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_block", aspect="generality")
@pytest.mark.parametrize(
    ("d_model", "num_heads", "d_ff", "shape"),
    [(8, 1, 5, (1, 4)), (8, 4, 3, (3, 1)), (12, 3, 20, (3, 3))],
    ids=str,
)
def test_block_of_other_sizes(student, reference, draw, d_model, num_heads, d_ff, shape):
    """One head, one sequence, one token, as many heads as sequences and tokens."""
    inputs = block(draw, d_model, num_heads, d_ff, 9) | {"in_features": draw(*shape, d_model)}
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_block", aspect="generality")
def test_block_is_causal(student, reference, draw):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = block(draw, 8, 2, 12, 6), draw(2, 6, 8), draw(2, 3, 8)
    changed = torch.cat((x[:, :3], x[:, 3:] + change), dim=1)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    assert_matches(
        second[:, :3],
        first[:, :3],
        what="the earlier outputs, which a later token must not change,",
    )
    assert_matches(second, reference(**weights, in_features=changed), OF_A_MODEL)


@exercise("run_transformer_block", aspect="numerics")
@pytest.mark.parametrize("scale", [0.002, 2_000.0])
def test_block_of_small_and_large_features(student, reference, draw, scale):
    """Norms even out features of thousands, and where features are small, eps has a say."""
    inputs = block(draw, 8, 2, 12, 6) | {"in_features": draw(2, 6, 8, scale=scale)}
    tolerance = LARGE_FEATURES if scale > 1 else OF_A_MODEL
    assert_matches(student(**inputs), reference(**inputs), tolerance)


@exercise("run_transformer_block", aspect="numerics")
def test_block_whose_gate_is_far_from_zero(student, reference, draw):
    """The exponential of numbers of thousands is infinite, and the gate is 0 or linear there."""
    inputs = block(draw, 8, 2, 12, 6) | {"in_features": draw(2, 6, 8)}
    inputs["weights"]["ffn.w1.weight"] *= 1000.0
    assert_matches(student(**inputs), reference(**inputs), LARGE_WEIGHTS)


@exercise("run_transformer_block", aspect="discipline")
def test_block_is_the_same_twice(student, draw):
    """A second call returns the same."""
    assert_same_answer_twice(student, **block(draw, 8, 2, 12, 5), in_features=draw(2, 5, 8))


@exercise("run_transformer_block", aspect="efficiency")
def test_block_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors; a loop over heads is no harm."""
    weights = block(draw, 8, 2, 12, 16)
    small, large = (weights | {"in_features": draw(n, 2 * n, 8)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
