"""Multi-head self-attention with RoPE: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.inputs import THETA, multihead_with_rope

from grader.testing import (
    assert_inputs_unchanged,
    assert_matches,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)
from tests.public.tolerances import up_to


@exercise("run_multihead_self_attention_with_rope")
@pytest.mark.parametrize(("d_model", "num_heads"), [(16, 4), (32, 2)], ids=str)
def test_multihead_with_rope(student, reference, draw, d_model, num_heads):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = multihead_with_rope(draw, d_model, num_heads, 10)
    inputs |= {"in_features": draw(2, 7, d_model), "token_positions": torch.arange(7).unsqueeze(0)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize("lead", [(), (1, 2, 3)], ids=str)
def test_multihead_with_rope_of_any_depth_without_positions(student, reference, draw, lead):
    """Any number of leading axes; no positions stand for 0, 1, 2, ..."""
    inputs = multihead_with_rope(draw, 8, 2, 6) | {"in_features": draw(*lead, 5, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize(("lead", "position_lead"), [((), ()), ((2,), ()), ((3,), (3,))], ids=str)
def test_multihead_with_rope_at_any_positions(student, reference, draw, lead, position_lead):
    """Positions are unsorted; where there are as many heads as sequences, they are the latter's."""
    inputs = multihead_with_rope(draw, 12, 3, 30) | {"in_features": draw(*lead, 5, 12)}
    inputs["token_positions"] = draw.integers(0, 29, *position_lead, 5)
    assert_matches(student(**inputs), reference(**inputs), up_to(30))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize(
    ("d_model", "num_heads", "seq", "theta"),
    [(8, 1, 5, 100.0), (12, 2, 4, 500_000.0), (12, 6, 3, 10.0), (20, 2, 1, 10.0)],
    ids=str,
)
def test_multihead_with_rope_of_other_sizes(
    student, reference, draw, d_model, num_heads, seq, theta
):
    """One head, one pair in each head, one token, and other bases of the frequencies."""
    inputs = multihead_with_rope(draw, d_model, num_heads, 9, theta)
    inputs |= {"in_features": draw(2, seq, d_model), "token_positions": torch.arange(seq)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="numerics")
@pytest.mark.parametrize("num_heads", [1, 2])
def test_multihead_with_rope_with_large_scores(student, draw, num_heads):
    """Scores of more than ten thousand give no NaN, and averages of the tokens so far."""
    one, x = torch.eye(8), draw(2, 6, 8, scale=3.0)
    weights = {f"{which}_proj_weight": one for which in "kvo"} | {"q_proj_weight": 1_000.0 * one}
    sizes = {"d_model": 8, "num_heads": num_heads, "max_seq_len": 6, "theta": THETA}
    actual = student(**sizes, **weights, in_features=x, token_positions=torch.arange(6))
    assert actual.isfinite().all(), "the result holds NaN or infinity"
    low, high = x.cummin(dim=1).values - 1e-4, x.cummax(dim=1).values + 1e-4
    within = (low <= actual) & (actual <= high)
    assert within.all(), "the result is no average of the tokens so far"


@exercise("run_multihead_self_attention_with_rope", aspect="discipline")
@pytest.mark.parametrize("check", [assert_inputs_unchanged, assert_same_answer_twice])
def test_multihead_with_rope_is_a_good_guest(student, draw, check):
    """Inputs stay as they are, and a second call returns the same."""
    inputs = multihead_with_rope(draw, 8, 2, 6) | {"in_features": draw(2, 5, 8)}
    check(student, **inputs, token_positions=torch.arange(5).unsqueeze(0))


@exercise("run_multihead_self_attention_with_rope", aspect="efficiency")
def test_multihead_with_rope_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors; a loop over heads is no harm."""
    weights = multihead_with_rope(draw, 8, 2, 0)
    small, large = (
        weights
        | {"max_seq_len": 2 * n, "in_features": draw(n, 2 * n, 8)}
        | {"token_positions": torch.arange(2 * n).unsqueeze(0)}
        for n in (2, 8)
    )
    assert_work_does_not_grow(student, reference, small, large)
