"""Multi-head self-attention with RoPE: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import DTYPES, up_to
from tests.hidden.telling_inputs import UNCHANGED, change_from, strided

THETA = 10_000.0


def multihead(draw, d_model, num_heads, max_seq_len, theta=THETA, dtype=torch.float32):
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5, dtype=dtype) for name in names}
    sizes = {"d_model": d_model, "num_heads": num_heads, "max_seq_len": max_seq_len}
    return sizes | {"theta": theta} | weights


@exercise("run_multihead_self_attention_with_rope")
@pytest.mark.parametrize(("d_model", "num_heads"), [(16, 4), (32, 2)], ids=str)
def test_multihead_with_rope(student, reference, draw, d_model, num_heads):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = multihead(draw, d_model, num_heads, max_seq_len=4 * d_model)
    inputs |= {"in_features": draw(2, 7, d_model), "token_positions": torch.arange(7).unsqueeze(0)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize("lead", [(), (1,), (1, 2, 3)], ids=str)
def test_multihead_with_rope_of_any_depth_without_positions(student, reference, draw, lead):
    """Any number of leading axes; no positions stand for 0, 1, 2, ... up to the last."""
    inputs = multihead(draw, 8, 2, max_seq_len=5) | {"in_features": draw(*lead, 5, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize(
    ("lead", "position_lead"),
    [((), ()), ((2,), ()), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (2, 3))],
    ids=str,
)
def test_multihead_with_rope_at_any_positions(student, reference, draw, lead, position_lead):
    """Positions are unsorted and line up with the last of the leading axes."""
    inputs = multihead(draw, 12, 3, max_seq_len=31) | {"in_features": draw(*lead, 5, 12)}
    inputs |= {"token_positions": draw.integers(0, 29, *position_lead, 5)}
    assert_matches(student(**inputs), reference(**inputs), up_to(31))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize("positions", [(0, 2, 1, 3), (0, 0, 2, 3)], ids=str)
def test_multihead_with_rope_at_positions_almost_in_order(student, reference, draw, positions):
    """The first token is at 0 and the last at seq - 1; between them any position may stand."""
    inputs = multihead(draw, 12, 3, max_seq_len=16) | {"in_features": draw(2, 4, 12)}
    inputs |= {"token_positions": torch.tensor(positions)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_with_as_many_heads_as_sequences(student, reference, draw):
    """The positions belong to the sequences, not to the heads."""
    inputs = multihead(draw, 12, 3, max_seq_len=31) | {"in_features": draw(3, 5, 12)}
    inputs |= {"token_positions": draw.integers(0, 29, 3, 5)}
    assert_matches(student(**inputs), reference(**inputs), up_to(31))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize(
    ("d_model", "num_heads", "seq", "theta"),
    [(6, 1, 70, 100.0), (12, 2, 4, 500_000.0), (12, 6, 3, 10.0), (20, 2, 1, 10.0)],
    ids=str,
)
def test_multihead_with_rope_of_other_sizes(
    student, reference, draw, d_model, num_heads, seq, theta
):
    """One head, one pair in each head, one token and many, other bases of the frequencies."""
    inputs = multihead(draw, d_model, num_heads, 71, theta)
    inputs |= {"in_features": draw(2, seq, d_model), "token_positions": torch.arange(seq)}
    assert_matches(student(**inputs), reference(**inputs), up_to(seq))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_depends_on_distances(student, reference, draw):
    """Moving all tokens by the same distance leaves the result as it was."""
    inputs = multihead(draw, 16, 2, max_seq_len=65) | {"in_features": draw(2, 5, 16)}
    positions = draw.permutation(20)[:5]
    first = student(**inputs, token_positions=positions)
    second = student(**inputs, token_positions=positions + 44)
    what = "the result at positions that are all moved by 44"
    assert_matches(second, first, up_to(64), what=what)
    assert_matches(second, reference(**inputs, token_positions=positions + 44), up_to(64))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_is_causal(student, reference, draw):
    """A changed token changes itself and what follows in order, whatever its position."""
    inputs, x, change = multihead(draw, 8, 2, max_seq_len=16), draw(2, 6, 8), draw(2, 3, 8)
    inputs |= {"token_positions": torch.tensor([9, 2, 15, 0, 4, 7])}
    changed = torch.cat((x[:, :3], x[:, 3:] + change), dim=1)
    first, second = student(**inputs, in_features=x), student(**inputs, in_features=changed)
    assert_matches(second[:, :3], first[:, :3], what=UNCHANGED)
    assert_matches(second, reference(**inputs, in_features=changed))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_of_tokens_of_zeros(student, reference, draw):
    """A token of zeros has a score of zero with every token, and hides none."""
    x = draw(2, 5, 8)
    inputs = multihead(draw, 8, 2, max_seq_len=5) | {"in_features": change_from(3, x, -x)}
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


@exercise("run_multihead_self_attention_with_rope", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_multihead_with_rope_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    inputs = multihead(draw, 8, 2, max_seq_len=6, dtype=dtype)
    inputs |= {"in_features": draw(2, 5, 8, dtype=dtype), "token_positions": torch.arange(5)}
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="discipline")
@pytest.mark.parametrize(
    "check", [assert_inputs_unchanged, assert_same_answer_twice, assert_runs_on_another_device]
)
def test_multihead_with_rope_is_a_good_guest(student, draw, check):
    """Inputs stay as they are and where they are, and a second call returns the same."""
    inputs = multihead(draw, 8, 2, max_seq_len=6) | {"in_features": draw(2, 5, 8)}
    check(student, **inputs, token_positions=torch.arange(5).unsqueeze(0))
    check(student, **inputs)


@exercise("run_multihead_self_attention_with_rope", aspect="discipline")
def test_multihead_with_rope_of_strided_inputs(student, reference, draw):
    """Tokens, weights and positions need not be contiguous in memory."""
    inputs = multihead(draw, 8, 2, max_seq_len=12)
    inputs["k_proj_weight"] = inputs["k_proj_weight"].T
    inputs["in_features"] = strided(draw, 3, 2, 5, 8)
    inputs["token_positions"] = draw.integers(0, 11, 5, 2).T
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="efficiency")
def test_multihead_with_rope_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors; a loop over heads is no harm."""
    weights = multihead(draw, 8, 2, max_seq_len=0)
    small, large = (
        weights
        | {"max_seq_len": 2 * n, "in_features": draw(n, 2 * n, 8)}
        | {"token_positions": torch.arange(2 * n).unsqueeze(0)}
        for n in (2, 8)
    )
    assert_work_does_not_grow(student, reference, small, large)
