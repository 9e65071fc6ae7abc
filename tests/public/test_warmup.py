"""Part 1, warm-up: softmax, first self-attention, causal mask, attention weights, dropout."""

import pytest
import torch

from grader.testing import (
    Tolerance,
    assert_inputs_unchanged,
    assert_matches,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)

# Six tokens ("Your journey starts with one step") and weights, with what comes of them, all
# rounded to four decimals.
TOKENS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
W_QUERY = torch.tensor([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]])
W_KEY = torch.tensor([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]])
W_VALUE = torch.tensor([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]])
ROUNDED = Tolerance(rtol=0.0, atol=2e-4)
# Near 10000 float32 counts in steps of 0.001; a softmax by way of a logarithm keeps that error.
LARGE_SCORES = Tolerance(rtol=2e-3, atol=4e-3)


def batch_of_two(x: torch.Tensor) -> torch.Tensor:
    return torch.stack((x, x))


def projections(draw, d_in, d_out):
    names = ("W_query", "W_key", "W_value")
    return {name: draw(d_in, d_out, scale=d_in**-0.5) for name in names}


# --- run_softmax --------------------------------------------------------------------------------


@exercise("run_softmax")
def test_softmax_of_worked_scores(student):
    """The second token's scores in the worked example become its weights."""
    scores = torch.tensor([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865])
    weights = torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])
    assert_matches(student(batch_of_two(scores), dim=-1), batch_of_two(weights), ROUNDED)


@exercise("run_softmax")
def test_softmax_along_the_last_axis(student, reference, draw):
    """The softmax of each row of a matrix."""
    x = draw(4, 6)
    assert_matches(student(x, dim=-1), reference(x, dim=-1))


@exercise("run_softmax", aspect="generality")
@pytest.mark.parametrize(("shape", "dim"), [((5,), 0), ((3, 4, 2), -2)], ids=str)
def test_softmax_along_any_axis(student, reference, draw, shape, dim):
    """The axis may be any, counted from the front or from the back."""
    x = draw(*shape)
    assert_matches(student(x, dim=dim), reference(x, dim=dim))


@exercise("run_softmax", aspect="numerics")
@pytest.mark.parametrize("center", [10_000.0, -5_000.0])
def test_softmax_of_large_numbers(student, reference, draw, center):
    """Numbers near 10000 or -5000 have a softmax like any others."""
    x = center + draw.integers(-5, 6, 3, 6)
    assert_matches(student(x, dim=-1), reference(x, dim=-1), LARGE_SCORES)


@exercise("run_softmax", aspect="discipline")
def test_softmax_leaves_its_input_alone(student, draw):
    """The caller's tensor is the same after the call."""
    assert_inputs_unchanged(student, draw(4, 6), dim=-1)


# --- run_simple_self_attention ------------------------------------------------------------------


@exercise("run_simple_self_attention")
def test_simple_self_attention_of_worked_tokens(student):
    """The six context vectors of the worked example."""
    contexts = torch.tensor(
        [
            [0.4421, 0.5931, 0.5790],
            [0.4419, 0.6515, 0.5683],
            [0.4431, 0.6496, 0.5671],
            [0.4304, 0.6298, 0.5510],
            [0.4671, 0.5910, 0.5266],
            [0.4177, 0.6503, 0.5645],
        ]
    )
    assert_matches(student(batch_of_two(TOKENS)), batch_of_two(contexts), ROUNDED)


@exercise("run_simple_self_attention")
def test_simple_self_attention_of_a_batch(student, reference, draw):
    """A batch of sequences, each attending to itself."""
    x = draw(3, 5, 4)
    assert_matches(student(x), reference(x))


@exercise("run_simple_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_simple_self_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    x = draw(*lead, 4, 3)
    assert_matches(student(x), reference(x))


# --- run_self_attention -------------------------------------------------------------------------


@exercise("run_self_attention")
def test_self_attention_of_worked_tokens(student):
    """The six context vectors of the worked example with weights."""
    contexts = torch.tensor(
        [
            [0.2996, 0.8053],
            [0.3061, 0.8210],
            [0.3058, 0.8203],
            [0.2948, 0.7939],
            [0.2927, 0.7891],
            [0.2990, 0.8040],
        ]
    )
    actual = student(W_QUERY, W_KEY, W_VALUE, batch_of_two(TOKENS))
    assert_matches(actual, batch_of_two(contexts), ROUNDED)


@exercise("run_self_attention")
def test_self_attention_of_a_batch(student, reference, draw):
    """A batch of sequences with weights from 6 to 4 features."""
    inputs = projections(draw, 6, 4) | {"in_features": draw(3, 5, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_self_attention")
def test_self_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 4, 5), projections(draw, 5, 3), projections(draw, 5, 3)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_self_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    inputs = projections(draw, 3, 5) | {"in_features": draw(*lead, 4, 3)}
    assert_matches(student(**inputs), reference(**inputs))


# --- run_causal_mask ----------------------------------------------------------------------------


@exercise("run_causal_mask")
def test_causal_mask_of_six_positions(student):
    """Six positions: row i allows the columns up to i."""
    allowed = [[column <= row for column in range(6)] for row in range(6)]
    assert_matches(student(seq_len=6), torch.tensor(allowed))


@exercise("run_causal_mask", aspect="generality")
def test_causal_mask_of_one_position(student):
    """A single position sees itself."""
    assert_matches(student(seq_len=1), torch.tensor([[True]]))


# --- run_attention_weights ----------------------------------------------------------------------


@exercise("run_attention_weights")
def test_attention_weights_of_the_worked_query(student):
    """The second token's weights in the worked example."""
    queries, keys = TOKENS @ W_QUERY, TOKENS @ W_KEY
    weights = torch.tensor([0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820])
    actual = student(batch_of_two(queries), batch_of_two(keys))
    assert_matches(actual[:, 1], batch_of_two(weights), ROUNDED)


@exercise("run_attention_weights")
def test_attention_weights_without_mask(student, reference, draw):
    """A batch of queries and keys, all allowed."""
    Q, K = draw(3, 5, 8), draw(3, 7, 8)
    assert_matches(student(Q, K), reference(Q, K))


@exercise("run_attention_weights")
def test_attention_weights_with_mask(student, reference, draw):
    """A batch of queries and keys under a mask."""
    Q, K, mask = draw(3, 5, 8), draw(3, 7, 8), draw.mask(3, 5, 7)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_attention_weights_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    Q, K, mask = draw(*lead, 4, 6), draw(*lead, 3, 6), draw.mask(*lead, 4, 3)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
def test_one_mask_for_the_whole_batch(student, reference, draw):
    """A mask without the batch axis holds for every sequence of the batch."""
    Q, K, mask = draw(3, 5, 8), draw(3, 7, 8), draw.mask(5, 7)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="efficiency")
def test_attention_weights_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs take no more torch operations."""
    small = {"Q": draw(2, 4, 8), "K": draw(2, 4, 8), "mask": draw.mask(2, 4, 4)}
    large = {"Q": draw(8, 16, 8), "K": draw(8, 16, 8), "mask": draw.mask(8, 16, 16)}
    assert_work_does_not_grow(student, reference, small, large)


# --- run_attention_dropout ----------------------------------------------------------------------


@exercise("run_attention_dropout")
@pytest.mark.parametrize("p", [0.5, 0.3])
def test_dropout_does_nothing_in_evaluation(student, draw, p):
    """Without training the weights come back as they are."""
    weights = 0.1 + draw.uniform(2, 6, 6)
    assert_matches(student(weights, p=p, training=False), weights)


@exercise("run_attention_dropout")
@pytest.mark.parametrize("p", [0.5, 0.25])
def test_dropout_scales_what_it_keeps(student, draw, p):
    """In training a weight is either 0 or scaled by one factor."""
    weights = 0.1 + draw.uniform(4, 32, 32)
    dropped = student(weights, p=p, training=True)
    assert_matches(dropped, torch.where(dropped == 0, 0.0, weights / (1 - p)))


@exercise("run_attention_dropout")
def test_dropout_drops_half_when_p_is_a_half(student):
    """About as many weights are dropped as p says."""
    dropped = student(torch.ones(4, 32, 32), p=0.5, training=True)
    share = (dropped == 0).float().mean().item()
    # 4096 weights: the limits are eight standard deviations away.
    assert abs(share - 0.5) < 0.0625, f"with p=0.5 a share of {share:.3f} was dropped"


@exercise("run_attention_dropout", aspect="generality")
def test_dropout_with_p_of_zero(student, draw):
    """With p = 0 nothing is dropped in training either."""
    weights = draw.uniform(2, 6, 6)
    assert_matches(student(weights, p=0.0, training=True), weights)


@exercise("run_attention_dropout", aspect="discipline")
def test_dropout_is_repeatable_in_evaluation(student, draw):
    """In evaluation there is no chance at work."""
    assert_same_answer_twice(student, draw.uniform(2, 6, 6), p=0.5, training=False)
