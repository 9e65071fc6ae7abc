"""RoPE: the tests that you have at home."""

import pytest
import torch

from grader.testing import (
    assert_inputs_unchanged,
    assert_matches,
    assert_work_does_not_grow,
    exercise,
)
from tests.public.tolerances import ROUNDED


@exercise("run_rope")
def test_rope_turns_the_worked_pairs(student, reference, draw):
    """At position m the first pair turns by m, the second by m / 10, whatever the pairs are."""
    x = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])
    turned = torch.tensor(
        [
            [
                [1.0000, 0.0000, 1.0000, 0.0000],
                [0.5403, 0.8415, 0.9950, 0.0998],
                [-0.9093, -0.4161, -0.1987, 0.9801],
            ]
        ]
    )
    positions, others = torch.arange(3), draw(1, 3, 4)
    assert_matches(student(4, 100.0, 3, x, positions), turned, ROUNDED)
    expected = reference(4, 100.0, 3, others, positions)
    assert_matches(
        student(4, 100.0, 3, others, positions), expected, what="the rotation of other pairs"
    )


@exercise("run_rope")
def test_rope_of_a_batch(student, reference, draw):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    x, positions = draw(3, 12, 16), torch.arange(12)
    assert_matches(
        student(16, 10_000.0, 12, x, positions), reference(16, 10_000.0, 12, x, positions)
    )


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_rope_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or a batch and heads, all at the same positions."""
    x, positions = draw(*lead, 6, 8), torch.arange(6)
    assert_matches(student(8, 10_000.0, 16, x, positions), reference(8, 10_000.0, 16, x, positions))


@exercise("run_rope", aspect="generality")
def test_rope_at_positions_of_each_sequence(student, reference, draw):
    """Each sequence of the batch has positions of its own, in any order."""
    x, positions = draw(3, 6, 8), draw.integers(0, 19, 3, 6)
    assert_matches(student(8, 10_000.0, 20, x, positions), reference(8, 10_000.0, 20, x, positions))


@exercise("run_rope", aspect="generality")
def test_rope_keeps_lengths(student, reference, draw):
    """A rotation makes no vector longer or shorter."""
    x, positions = draw(2, 6, 8), torch.arange(6)
    turned = student(8, 10_000.0, 6, x, positions)
    assert_matches(turned.norm(dim=-1), x.norm(dim=-1), what="the length of the vectors")
    assert_matches(turned, reference(8, 10_000.0, 6, x, positions))


@exercise("run_rope", aspect="discipline")
def test_rope_leaves_its_inputs_alone(student, draw):
    """The caller's tensors are the same after the call."""
    assert_inputs_unchanged(student, 8, 10_000.0, 6, draw(2, 6, 8), torch.arange(6))


@exercise("run_rope", aspect="efficiency")
def test_rope_without_a_loop_over_tokens(student, reference, draw):
    """Longer sequences need no more operations and no huge tensors."""
    small = {"in_query_or_key": draw(2, 4, 8), "token_positions": torch.arange(4)}
    large = {"in_query_or_key": draw(8, 16, 8), "token_positions": torch.arange(16)}
    small |= {"d_k": 8, "theta": 10_000.0, "max_seq_len": 4}
    large |= {"d_k": 8, "theta": 10_000.0, "max_seq_len": 16}
    assert_work_does_not_grow(student, reference, small, large)
