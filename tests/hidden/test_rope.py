"""RoPE: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    exercise,
)
from tests.hidden.precision import DTYPES, up_to

THETA = 10_000.0


def rotation(d_k, max_seq_len, x, positions, theta=THETA):
    sizes = {"d_k": d_k, "theta": theta, "max_seq_len": max_seq_len}
    return sizes | {"in_query_or_key": x, "token_positions": positions}


@exercise("run_rope")
@pytest.mark.parametrize("d_k", [8, 32])
def test_rope(student, reference, draw, d_k):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = rotation(d_k, 4 * d_k, draw(2, 10, d_k), torch.arange(10))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(
    ("lead", "position_lead"),
    [((), ()), ((2,), (1,)), ((2, 3), (3,)), ((2, 3), (2, 1))],
    ids=str,
)
def test_rope_with_positions_that_broadcast(student, reference, draw, lead, position_lead):
    """Positions line up with the last of the leading axes and hold for those that they lack."""
    x, positions = draw(*lead, 5, 6), draw.integers(1, 29, *position_lead, 5)
    inputs = rotation(6, 31, x, positions)
    assert_matches(student(**inputs), reference(**inputs), up_to(31))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(("theta", "d_k"), [(100.0, 8), (500_000.0, 6)], ids=str)
def test_rope_with_other_thetas(student, reference, draw, theta, d_k):
    """The base of the frequencies is what the caller says, whatever an earlier caller said."""
    x, positions = draw(2, 12, d_k), torch.arange(12)
    for base in (THETA, theta):
        inputs = rotation(d_k, 12, x, positions, base)
        assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(("seq", "d_k"), [(1, 4), (7, 2), (3, 10)], ids=str)
def test_rope_of_other_sizes(student, reference, draw, seq, d_k):
    """One vector, one pair, sizes that are no powers of two; nothing is at the position 0."""
    inputs = rotation(d_k, 17, draw(2, seq, d_k), 1 + draw.permutation(15)[:seq])
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
def test_rope_at_the_last_positions(student, reference, draw):
    """The last position is one less than the maximum."""
    inputs = rotation(8, 500, draw(2, 4, 8), torch.arange(496, 500))
    assert_matches(student(**inputs), reference(**inputs), up_to(500))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize("positions", [(0, 2, 1, 3), (0, 0, 2, 3)], ids=str)
def test_rope_at_positions_that_are_almost_in_order(student, reference, draw, positions):
    """The first vector is at 0 and the last at seq - 1; between them any position may stand."""
    inputs = rotation(8, 16, draw(2, 4, 8), torch.tensor(positions))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
def test_rope_scores_depend_on_the_distance(student, reference, draw):
    """Moving a query and a key by the same distance leaves their score as it was."""
    q, k = draw(2, 6, 8), draw(2, 6, 8)
    near, far = draw.integers(0, 10, 6), draw.integers(0, 10, 6)
    first = student(**rotation(8, 32, q, near)) * student(**rotation(8, 32, k, far))
    moved_q = student(**rotation(8, 32, q, near + 17))
    second = moved_q * student(**rotation(8, 32, k, far + 17))
    what = "the scores at positions that are all moved by 17"
    assert_matches(second.sum(-1), first.sum(-1), up_to(60), what=what)
    assert_matches(moved_q, reference(**rotation(8, 32, q, near + 17)), up_to(32))


@exercise("run_rope", aspect="generality")
def test_rope_turns_nothing_at_position_zero(student, reference, draw):
    """A vector at position 0 stays as it is, wherever it stands in the sequence."""
    x = draw(2, 5, 8)
    inputs = rotation(8, 16, x, torch.tensor([7, 0, 3, 0, 11]))
    actual = student(**inputs)
    for place in (1, 3):
        what = f"the vector at index {place}, whose position is 0,"
        assert_matches(actual[:, place], x[:, place], what=what)
    assert_matches(actual, reference(**inputs))


@exercise("run_rope", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rope_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the input."""
    inputs = rotation(8, 12, draw(2, 12, 8, dtype=dtype), torch.arange(12))
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_rope", aspect="numerics")
def test_rope_of_half_precision_far_away(student, reference, draw):
    """At position 4000 angles need more digits than 16 bits have, and the result does not."""
    x, positions = draw(2, 12, 8, dtype=torch.bfloat16), torch.arange(4_084, 4_096)
    inputs = rotation(8, 4_096, x, positions)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="gradients")
def test_rope_gradients(student, reference, draw):
    """Gradients reach the vectors, turned back."""
    inputs = rotation(8, 13, draw(2, 6, 8), 1 + draw.permutation(11)[:6])
    cotangent = draw(2, 6, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_query_or_key",), **inputs)


@exercise("run_rope", aspect="discipline")
def test_rope_on_another_device(student, draw):
    """The vectors and the positions may lie on a GPU."""
    inputs = rotation(8, 13, draw(2, 11, 8), torch.arange(11))
    assert_runs_on_another_device(student, **inputs)


@exercise("run_rope", aspect="discipline")
def test_rope_of_split_heads(student, reference, draw):
    """Inputs need not be contiguous: heads are split off by a transposition."""
    x = draw(2, 5, 3, 8).transpose(1, 2)
    inputs = rotation(8, 12, x, torch.arange(5).expand(2, 1, 5))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="discipline")
def test_rope_of_every_second_feature(student, reference, draw):
    """Neighbouring features need not be neighbours in memory."""
    inputs = rotation(8, 12, draw(2, 5, 16)[..., ::2], torch.arange(5))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="discipline")
def test_rope_leaves_strided_inputs_alone(student, draw):
    """The caller's tensors are the same after the call, also where they share memory."""
    x = draw(5, 2, 8).transpose(0, 1)
    assert_inputs_unchanged(student, **rotation(8, 13, x, draw.permutation(12)[:5]))
