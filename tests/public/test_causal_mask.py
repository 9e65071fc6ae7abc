"""The causal mask: the tests that you have at home."""

import torch

from grader.testing import assert_matches, exercise


@exercise("run_causal_mask")
def test_causal_mask_of_six_positions(student):
    """Six positions: row i allows the columns up to i."""
    allowed = [[column <= row for column in range(6)] for row in range(6)]
    assert_matches(student(seq_len=6), torch.tensor(allowed))


@exercise("run_causal_mask", aspect="generality")
def test_causal_mask_of_one_position(student):
    """A single position sees itself."""
    assert_matches(student(seq_len=1), torch.tensor([[True]]))
