"""The causal mask: what the grade looks at beyond the public tests."""

import pytest

from grader.testing import (
    assert_matches,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)


@exercise("run_causal_mask")
@pytest.mark.parametrize("shortest", [8, 40])
def test_causal_mask(student, reference, draw, shortest):
    """Every query may see itself and what came before."""
    for seq_len in draw.integers(shortest, shortest + 100, 2).tolist():
        assert_matches(student(seq_len=seq_len), reference(seq_len=seq_len))


@exercise("run_causal_mask", aspect="generality")
@pytest.mark.parametrize("seq_len", [2, 33])
def test_causal_mask_of_other_lengths(student, reference, seq_len):
    """Short and long sequences."""
    assert_matches(student(seq_len=seq_len), reference(seq_len=seq_len))


@exercise("run_causal_mask", aspect="discipline")
def test_causal_mask_is_the_same_twice(student):
    """A second call returns the same mask."""
    assert_same_answer_twice(student, seq_len=5)


@exercise("run_causal_mask", aspect="efficiency")
def test_causal_mask_without_a_loop(student, reference):
    """A longer sequence takes no more torch operations."""
    assert_work_does_not_grow(student, reference, {"seq_len": 150}, {"seq_len": 600})
