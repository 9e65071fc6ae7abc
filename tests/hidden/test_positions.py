"""Part 3, positions: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    Tolerance,
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)

DTYPES = [torch.float64, torch.bfloat16]
THETA = 10_000.0


def up_to(position):
    """The tolerance at positions up to this one, for tables of angles that are kept in float32.

    An angle is the product of a position and a rounded power, so its error grows with the position:
    two units of 6e-8 each, on features of up to five.
    """
    return Tolerance(rtol=1.3e-6, atol=1e-5 + position * 6e-7)


def multihead(draw, d_model, num_heads, max_seq_len, theta=THETA, dtype=torch.float32):
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5, dtype=dtype) for name in names}
    sizes = {"d_model": d_model, "num_heads": num_heads, "max_seq_len": max_seq_len}
    return sizes | {"theta": theta} | weights


def rotation(d_k, max_seq_len, x, positions, theta=THETA):
    sizes = {"d_k": d_k, "theta": theta, "max_seq_len": max_seq_len}
    return sizes | {"in_query_or_key": x, "token_positions": positions}


# --- run_sinusoidal_positional_encoding ---------------------------------------------------------


@exercise("run_sinusoidal_positional_encoding")
@pytest.mark.parametrize(("seq_len", "d_model"), [(6, 8), (12, 32)], ids=str)
def test_sinusoidal_encoding_of_ordinary_sizes(student, reference, seq_len, d_model):
    """A short sequence of a few features."""
    sizes = {"seq_len": seq_len, "d_model": d_model}
    assert_matches(student(**sizes), reference(**sizes))


@exercise("run_sinusoidal_positional_encoding", aspect="generality")
@pytest.mark.parametrize(("seq_len", "d_model"), [(1, 2), (3, 50)], ids=str)
def test_sinusoidal_encoding_of_odd_sizes(student, reference, seq_len, d_model):
    """One position, one pair, sizes that are no powers of two."""
    sizes = {"seq_len": seq_len, "d_model": d_model}
    assert_matches(student(**sizes), reference(**sizes))


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
    """More positions take no more torch operations."""
    small, large = {"seq_len": 6, "d_model": 8}, {"seq_len": 24, "d_model": 8}
    assert_work_does_not_grow(student, reference, small, large)


# --- run_rope -----------------------------------------------------------------------------------


@exercise("run_rope")
@pytest.mark.parametrize("d_k", [8, 32])
def test_rope(student, reference, draw, d_k):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = rotation(d_k, 10, draw(2, 10, d_k), torch.arange(10))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(
    ("lead", "position_lead"),
    [((), ()), ((2,), (1,)), ((2, 3), (3,)), ((2, 3), (2, 1))],
    ids=str,
)
def test_rope_with_positions_that_broadcast(student, reference, draw, lead, position_lead):
    """Positions line up with the last of the leading axes and hold for those that they lack."""
    x, positions = draw(*lead, 5, 6), draw.integers(0, 30, *position_lead, 5)
    inputs = rotation(6, 30, x, positions)
    assert_matches(student(**inputs), reference(**inputs), up_to(30))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(("theta", "d_k"), [(100.0, 8), (500_000.0, 6)], ids=str)
def test_rope_with_other_thetas(student, reference, draw, theta, d_k):
    """The base of the frequencies is what the caller says."""
    inputs = rotation(d_k, 12, draw(2, 12, d_k), torch.arange(12), theta)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
@pytest.mark.parametrize(("seq", "d_k"), [(1, 4), (7, 2), (3, 10)], ids=str)
def test_rope_of_other_sizes(student, reference, draw, seq, d_k):
    """One vector, one pair, sizes that are no powers of two."""
    inputs = rotation(d_k, 16, draw(2, seq, d_k), draw.permutation(16)[:seq])
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="generality")
def test_rope_at_the_last_positions(student, reference, draw):
    """The last position is one less than the maximum."""
    inputs = rotation(8, 500, draw(2, 4, 8), torch.arange(496, 500))
    assert_matches(student(**inputs), reference(**inputs), up_to(500))


@exercise("run_rope", aspect="generality")
def test_rope_scores_depend_on_the_distance(student, reference, draw):
    """Moving a query and a key by the same distance leaves their score as it was."""
    q, k = draw(2, 6, 8), draw(2, 6, 8)
    near, far = draw.integers(0, 10, 6), draw.integers(0, 10, 6)
    first = student(**rotation(8, 32, q, near)) * student(**rotation(8, 32, k, far))
    moved_q = student(**rotation(8, 32, q, near + 17))
    second = moved_q * student(**rotation(8, 32, k, far + 17))
    assert_matches(second.sum(-1), first.sum(-1), up_to(60), what="the scores after a move")
    assert_matches(moved_q, reference(**rotation(8, 32, q, near + 17)), up_to(32))


@exercise("run_rope", aspect="generality")
def test_rope_turns_nothing_at_position_zero(student, reference, draw):
    """A vector at position 0 stays as it is, wherever it stands in the sequence."""
    x = draw(2, 5, 8)
    inputs = rotation(8, 16, x, torch.tensor([7, 0, 3, 0, 11]))
    actual = student(**inputs)
    assert_matches(actual[:, [1, 3]], x[:, [1, 3]], what="what stands at position 0")
    assert_matches(actual, reference(**inputs))


@exercise("run_rope", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rope_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the input."""
    inputs = rotation(8, 12, draw(2, 12, 8, dtype=dtype), torch.arange(12))
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_rope", aspect="gradients")
def test_rope_gradients(student, reference, draw):
    """Gradients reach the vectors, turned back."""
    inputs = rotation(8, 12, draw(2, 6, 8), draw.permutation(12)[:6])
    cotangent = draw(2, 6, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_query_or_key",), **inputs)


@exercise("run_rope", aspect="discipline")
def test_rope_on_another_device(student, draw):
    """The vectors and the positions may lie on a GPU."""
    inputs = rotation(8, 12, draw(2, 6, 8), torch.arange(6))
    assert_runs_on_another_device(student, **inputs)


@exercise("run_rope", aspect="discipline")
def test_rope_of_split_heads(student, reference, draw):
    """Inputs need not be contiguous: heads are split off by a transposition."""
    x = draw(2, 5, 3, 8).transpose(1, 2)
    inputs = rotation(8, 12, x, torch.arange(5).expand(2, 1, 5))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_rope", aspect="discipline")
def test_rope_leaves_strided_inputs_alone(student, draw):
    """The caller's tensors are the same after the call, also where they share memory."""
    x = draw(5, 2, 8).transpose(0, 1)
    assert_inputs_unchanged(student, **rotation(8, 12, x, draw.permutation(12)[:5]))


# --- run_multihead_self_attention_with_rope -----------------------------------------------------


@exercise("run_multihead_self_attention_with_rope")
@pytest.mark.parametrize(("d_model", "num_heads"), [(16, 4), (32, 2)], ids=str)
def test_multihead_with_rope(student, reference, draw, d_model, num_heads):
    """A batch of sequences at the positions 0, 1, 2, ..."""
    inputs = multihead(draw, d_model, num_heads, max_seq_len=10)
    inputs |= {"in_features": draw(2, 7, d_model), "token_positions": torch.arange(7).unsqueeze(0)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 1, 3)], ids=str)
def test_multihead_with_rope_of_any_depth_without_positions(student, reference, draw, lead):
    """Any number of leading axes; no positions stand for 0, 1, 2, ..."""
    inputs = multihead(draw, 8, 2, max_seq_len=6) | {"in_features": draw(*lead, 5, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
@pytest.mark.parametrize(
    ("lead", "position_lead"),
    [((), ()), ((2,), ()), ((2, 3), (3,)), ((2, 3), (2, 1))],
    ids=str,
)
def test_multihead_with_rope_at_any_positions(student, reference, draw, lead, position_lead):
    """Positions are unsorted and line up with the last of the leading axes."""
    inputs = multihead(draw, 12, 3, max_seq_len=30) | {"in_features": draw(*lead, 5, 12)}
    inputs |= {"token_positions": draw.integers(0, 30, *position_lead, 5)}
    assert_matches(student(**inputs), reference(**inputs), up_to(30))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_with_as_many_heads_as_sequences(student, reference, draw):
    """The positions belong to the sequences, not to the heads."""
    inputs = multihead(draw, 12, 3, max_seq_len=30) | {"in_features": draw(3, 5, 12)}
    inputs |= {"token_positions": draw.integers(0, 30, 3, 5)}
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
    inputs = multihead(draw, d_model, num_heads, 9, theta)
    inputs |= {"in_features": draw(2, seq, d_model), "token_positions": torch.arange(seq)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_depends_on_distances(student, reference, draw):
    """Moving all tokens by the same distance leaves the result as it was."""
    inputs = multihead(draw, 16, 2, max_seq_len=64) | {"in_features": draw(2, 5, 16)}
    positions = draw.permutation(20)[:5]
    first = student(**inputs, token_positions=positions)
    second = student(**inputs, token_positions=positions + 44)
    assert_matches(second, first, up_to(64), what="the result after a move")
    assert_matches(second, reference(**inputs, token_positions=positions + 44), up_to(64))


@exercise("run_multihead_self_attention_with_rope", aspect="generality")
def test_multihead_with_rope_is_causal(student, reference, draw):
    """A changed token changes itself and what follows in order, whatever its position."""
    inputs, x, change = multihead(draw, 8, 2, max_seq_len=16), draw(2, 6, 8), draw(2, 3, 8)
    inputs |= {"token_positions": torch.tensor([9, 2, 15, 0, 4, 7])}
    changed = torch.cat((x[:, :3], x[:, 3:] + change), dim=1)
    first, second = student(**inputs, in_features=x), student(**inputs, in_features=changed)
    assert_matches(second[:, :3], first[:, :3], what="what the tokens before the change see")
    assert_matches(second, reference(**inputs, in_features=changed))


@exercise("run_multihead_self_attention_with_rope", aspect="numerics")
@pytest.mark.parametrize("num_heads", [1, 2])
def test_multihead_with_rope_with_large_scores(student, draw, num_heads):
    """Scores of more than ten thousand give no NaN, and averages of values."""
    one, x = torch.eye(8), draw(2, 6, 8, scale=3.0)
    weights = {f"{which}_proj_weight": one for which in "kvo"} | {"q_proj_weight": 1_000.0 * one}
    sizes = {"d_model": 8, "num_heads": num_heads, "max_seq_len": 6, "theta": THETA}
    actual = student(**sizes, **weights, in_features=x, token_positions=torch.arange(6))
    assert actual.isfinite().all(), "the result holds NaN or infinity"
    assert actual.abs().max() <= x.abs().max() + 1e-4, "the result is no average of the values"


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


@exercise("run_multihead_self_attention_with_rope", aspect="discipline")
def test_multihead_with_rope_of_strided_inputs(student, reference, draw):
    """Tokens, weights and positions need not be contiguous in memory."""
    inputs = multihead(draw, 8, 2, max_seq_len=12)
    inputs["k_proj_weight"] = inputs["k_proj_weight"].T
    inputs["in_features"] = draw(5, 2, 8).transpose(0, 1)
    inputs["token_positions"] = draw.integers(0, 12, 5, 2).T
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention_with_rope", aspect="efficiency")
def test_multihead_with_rope_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs take no more torch operations; a loop over heads is no harm."""
    weights = multihead(draw, 8, 2, max_seq_len=0)
    small, large = (
        weights
        | {"max_seq_len": 2 * n, "in_features": draw(n, 2 * n, 8)}
        | {"token_positions": torch.arange(2 * n).unsqueeze(0)}
        for n in (2, 8)
    )
    assert_work_does_not_grow(student, reference, small, large)
