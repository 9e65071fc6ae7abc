"""Sinusoidal positional encoding: the tests that you have at home."""

import pytest
import torch

from grader.testing import assert_matches, exercise
from tests.public.tolerances import ROUNDED


@exercise("run_sinusoidal_positional_encoding")
def test_sinusoidal_encoding_of_three_positions(student, reference, draw):
    """Angles of 0, 1, 2 in the first pair, a hundredth of that in the second; and more features."""
    encoding = torch.tensor(
        [
            [0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999],
            [0.9093, -0.4161, 0.0200, 0.9998],
        ]
    )
    assert_matches(student(seq_len=3, d_model=4), encoding, ROUNDED)
    sizes_match(student, reference, seq_len=3, d_model=2 * int(draw.integers(3, 100)))


@exercise("run_sinusoidal_positional_encoding")
def test_sinusoidal_encoding(student, reference, draw):
    """A few positions of some features, in two sizes."""
    for seq_len in draw.integers(8, 17, 2).tolist():
        sizes_match(student, reference, seq_len=seq_len, d_model=2 * int(draw.integers(4, 33)))


@exercise("run_sinusoidal_positional_encoding", aspect="generality")
@pytest.mark.parametrize(("seq_len", "d_model"), [(1, 8), (7, 2)], ids=str)
def test_sinusoidal_encoding_of_other_sizes(student, reference, seq_len, d_model):
    """One position, or a single pair of features."""
    sizes = {"seq_len": seq_len, "d_model": d_model}
    assert_matches(student(**sizes), reference(**sizes))


def sizes_match(student, reference, **sizes):
    """The encoding of so many positions and features."""
    what = "the encoding with " + ", ".join(f"{name}={size}" for name, size in sizes.items())
    assert_matches(student(**sizes), reference(**sizes), what=what)
