"""RoPE: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.inputs import THETA, rotation

from grader.testing import assert_gradients_match, assert_matches, exercise
from tests.public.tolerances import up_to


@exercise("run_rope")
@pytest.mark.parametrize("d_k", [8, 32])
def test_rope(student, reference, draw, d_k):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = rotation(draw, d_k, 10, 2)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(
    ("lead", "position_lead"), [((), ()), ((2,), (1,)), ((2, 3), (2, 1))], ids=str
)
def test_rope_with_positions_that_broadcast(student, reference, draw, lead, position_lead):
    """Positions line up with the last of the leading axes and hold for those that they lack."""
    inputs = rotation(draw, 6, 30) | {"in_query_or_key": draw(*lead, 5, 6)}
    inputs["token_positions"] = draw.integers(1, 29, *position_lead, 5)
    assert_matches(student(**inputs), reference(**inputs), up_to(30))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(("theta", "d_k"), [(100.0, 8), (500_000.0, 6)], ids=str)
def test_rope_with_other_thetas(student, reference, draw, theta, d_k):
    """The base of the frequencies is what the caller says, whatever an earlier caller said."""
    for base in (THETA, theta):
        inputs = rotation(draw, d_k, 12, 2, theta=base)
        assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(("seq", "d_k"), [(1, 4), (7, 2), (3, 10)], ids=str)
def test_rope_of_other_sizes(student, reference, draw, seq, d_k):
    """One vector, one pair, sizes that are no powers of two; nothing is at the position 0."""
    inputs = rotation(draw, d_k, 17) | {"in_query_or_key": draw(2, seq, d_k)}
    inputs["token_positions"] = 1 + draw.permutation(15)[:seq]
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
def test_rope_at_the_last_positions(student, reference, draw):
    """The last position is one less than the maximum."""
    inputs = rotation(draw, 8, 4_096) | {"in_query_or_key": draw(2, 4, 8)}
    inputs["token_positions"] = torch.arange(4_092, 4_096)
    assert_matches(student(**inputs), reference(**inputs), up_to(500))


@exercise("run_rope", aspect="gradients")
def test_rope_gradients(student, reference, draw):
    """Gradients reach the vectors, turned back; none is at the position 0."""
    inputs = rotation(draw, 8, 8) | {"in_query_or_key": draw(2, 6, 8)}
    inputs["token_positions"] = 1 + draw.permutation(6)
    cotangent = draw(2, 6, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_query_or_key",), **inputs)


@exercise("run_rope", aspect="discipline")
def test_rope_of_split_heads(student, reference, draw):
    """Inputs need not be contiguous: heads are split off by a transposition."""
    inputs = rotation(draw, 8, 12) | {"in_query_or_key": draw(2, 5, 3, 8).transpose(1, 2)}
    inputs["token_positions"] = torch.arange(5).expand(2, 1, 5)
    assert_matches(student(**inputs), reference(**inputs))
