"""The causal mask: the tests that you have at home."""

import torch

from grader.testing import assert_matches, exercise


@exercise("run_causal_mask")
def test_causal_mask_of_six_positions(student, reference, draw):
    """Row i allows the columns up to i: with six positions, and with more."""
    allowed = [[column <= row for column in range(6)] for row in range(6)]
    assert_matches(student(seq_len=6), torch.tensor(allowed))
    for seq_len in draw.integers(7, 65, 2).tolist():
        what = f"the mask of {seq_len} positions"
        assert_matches(student(seq_len=seq_len), reference(seq_len=seq_len), what=what)


@exercise("run_causal_mask", aspect="generality")
def test_causal_mask_of_one_position(student):
    """A single position sees itself."""
    assert_matches(student(seq_len=1), torch.tensor([[True]]))
