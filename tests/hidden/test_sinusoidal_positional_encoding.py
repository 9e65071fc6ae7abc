"""Sinusoidal positional encoding: what the grade looks at beyond the public tests."""

import pytest

from grader.testing import (
    assert_matches,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import up_to


@exercise("run_sinusoidal_positional_encoding")
@pytest.mark.parametrize("pairs", [3, 16])
def test_sinusoidal_encoding_of_ordinary_sizes(student, reference, draw, pairs):
    """A short sequence of a few features."""
    seq_len, d_model = int(draw.integers(5, 15)), 2 * int(draw.integers(pairs, pairs + 20))
    sizes = {"seq_len": seq_len, "d_model": d_model}
    assert_matches(student(**sizes), reference(**sizes))


@exercise("run_sinusoidal_positional_encoding", aspect="generality")
@pytest.mark.parametrize(("seq_len", "d_model"), [(1, 2), (3, 50)], ids=str)
def test_sinusoidal_encoding_of_odd_sizes(student, reference, seq_len, d_model):
    """One position, one pair, sizes that are no powers of two."""
    sizes = {"seq_len": seq_len, "d_model": d_model}
    assert_matches(student(**sizes), reference(**sizes))


@exercise("run_sinusoidal_positional_encoding", aspect="generality")
def test_sinusoidal_encoding_of_thousands_of_positions(student, reference):
    """The table is as long as asked for."""
    actual = student(seq_len=5003, d_model=2)
    assert_matches(actual, reference(seq_len=5003, d_model=2), up_to(5003))


@exercise("run_sinusoidal_positional_encoding", aspect="numerics")
def test_sinusoidal_encoding_of_many_positions(student, reference):
    """Hundreds of positions are still encoded to several digits."""
    actual = student(seq_len=600, d_model=8)
    assert_matches(actual, reference(seq_len=600, d_model=8), up_to(600))


@exercise("run_sinusoidal_positional_encoding", aspect="discipline")
def test_sinusoidal_encoding_is_the_same_twice(student):
    """A second call returns the same."""
    assert_same_answer_twice(student, seq_len=5, d_model=8)


@exercise("run_sinusoidal_positional_encoding", aspect="efficiency")
def test_sinusoidal_encoding_without_a_loop_over_positions(student, reference):
    """More positions need no more operations and no huge tensors."""
    small, large = {"seq_len": 20, "d_model": 8}, {"seq_len": 80, "d_model": 8}
    assert_work_does_not_grow(student, reference, small, large)
