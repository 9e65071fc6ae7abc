"""Part 3, positions: sinusoidal encoding, RoPE, multi-head attention with RoPE."""

import pytest
import torch

from grader.testing import (
    Tolerance,
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_matches,
    assert_work_does_not_grow,
    exercise,
)

ROUNDED = Tolerance(rtol=0.0, atol=2e-4)


def multihead(draw, d_model, num_heads, max_seq_len, theta=10_000.0):
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5) for name in names}
    sizes = {"d_model": d_model, "num_heads": num_heads, "max_seq_len": max_seq_len}
    return sizes | {"theta": theta} | weights


# --- run_sinusoidal_positional_encoding ---------------------------------------------------------


@exercise("run_sinusoidal_positional_encoding")
def test_sinusoidal_encoding_of_three_positions(student):
    """Angles of 0, 1, 2 in the first pair and a hundredth of that in the second."""
    encoding = torch.tensor(
        [
            [0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999],
            [0.9093, -0.4161, 0.0200, 0.9998],
        ]
    )
    assert_matches(student(seq_len=3, d_model=4), encoding, ROUNDED)


@exercise("run_sinusoidal_positional_encoding")
def test_sinusoidal_encoding(student, reference):
    """Ten positions of sixteen features."""
    assert_matches(student(seq_len=10, d_model=16), reference(seq_len=10, d_model=16))


@exercise("run_sinusoidal_positional_encoding", aspect="generality")
@pytest.mark.parametrize(("seq_len", "d_model"), [(1, 8), (7, 2)], ids=str)
def test_sinusoidal_encoding_of_other_sizes(student, reference, seq_len, d_model):
    """One position, or a single pair of features."""
    sizes = {"seq_len": seq_len, "d_model": d_model}
    assert_matches(student(**sizes), reference(**sizes))


# --- run_rope -----------------------------------------------------------------------------------


@exercise("run_rope")
def test_rope_turns_the_worked_pairs(student):
    """At position m the first pair turns by m, the second by m / 10 when theta is 100."""
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
    assert_matches(student(4, 100.0, 3, x, torch.arange(3)), turned, ROUNDED)


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
    x, positions = draw(3, 6, 8), draw.integers(0, 20, 3, 6)
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
    """Longer sequences take no more torch operations."""
    small = {"in_query_or_key": draw(2, 4, 8), "token_positions": torch.arange(4)}
    large = {"in_query_or_key": draw(8, 16, 8), "token_positions": torch.arange(16)}
    small |= {"d_k": 8, "theta": 10_000.0, "max_seq_len": 4}
    large |= {"d_k": 8, "theta": 10_000.0, "max_seq_len": 16}
    assert_work_does_not_grow(student, reference, small, large)


# --- run_multihead_self_attention_with_rope -----------------------------------------------------


@exercise("run_multihead_self_attention_with_rope")
@pytest.mark.parametrize("num_heads", [2, 4])
def test_multihead_with_rope_of_a_batch(student, reference, draw, num_heads):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = multihead(draw, 16, num_heads, max_seq_len=8)
    inputs |= {"in_features": draw(3, 6, 16), "token_positions": torch.arange(6).unsqueeze(0)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope")
def test_multihead_with_rope_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    tokens = {"in_features": draw(2, 5, 8), "token_positions": torch.arange(5).unsqueeze(0)}
    first, second = (multihead(draw, 8, 2, max_seq_len=5) | tokens for _ in range(2))
    before, after = student(**first), student(**second)
    assert_matches(before, reference(**first))
    assert_matches(after, reference(**second))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_without_positions(student, reference, draw):
    """No positions stand for 0, 1, 2, ..."""
    inputs = multihead(draw, 16, 4, max_seq_len=8) | {"in_features": draw(3, 6, 16)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_multihead_with_rope_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several, all at the same positions."""
    inputs = multihead(draw, 12, 3, max_seq_len=8)
    inputs |= {"in_features": draw(*lead, 5, 12), "token_positions": torch.arange(5)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_at_positions_of_each_sequence(student, reference, draw):
    """Each sequence of the batch has positions of its own, in any order."""
    inputs = multihead(draw, 16, 2, max_seq_len=20)
    inputs |= {"in_features": draw(3, 6, 16), "token_positions": draw.integers(0, 20, 3, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="gradients")
def test_multihead_with_rope_gradients(student, reference, draw):
    """Gradients reach the tokens."""
    inputs = multihead(draw, 8, 2, max_seq_len=5)
    inputs |= {"in_features": draw(2, 5, 8), "token_positions": torch.arange(5).unsqueeze(0)}
    cotangent = draw(2, 5, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)
