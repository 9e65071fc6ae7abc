"""Part 1, warm-up: what the grade looks at beyond the public tests."""

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
# Near 10000 float32 counts in steps of 0.001; a softmax by way of a logarithm keeps that error.
LARGE_SCORES = Tolerance(rtol=2e-3, atol=4e-3)
# Weights lie between 0 and 1: bfloat16 (eight bits) leaves more than two digits of them.
WEIGHTS = {torch.float64: None, torch.bfloat16: Tolerance(rtol=4e-2, atol=4e-3)}


def projections(draw, d_in, d_out, dtype=torch.float32):
    names = ("W_query", "W_key", "W_value")
    return {name: draw(d_in, d_out, scale=d_in**-0.5, dtype=dtype) for name in names}


# --- run_softmax --------------------------------------------------------------------------------


@exercise("run_softmax")
def test_softmax_of_rows(student, reference, draw):
    """The softmax of each row of a matrix."""
    x = draw(5, 9, scale=3.0)
    assert_matches(student(x, dim=-1), reference(x, dim=-1))


@exercise("run_softmax", aspect="generality")
@pytest.mark.parametrize(("shape", "dim"), [((2, 3, 4, 5), 1), ((3, 1), 1)], ids=str)
def test_softmax_of_any_shape(student, reference, draw, shape, dim):
    """Any number of axes, and along any of them."""
    x = draw(*shape)
    assert_matches(student(x, dim=dim), reference(x, dim=dim))


@exercise("run_softmax", aspect="numerics")
@pytest.mark.parametrize(("center", "step"), [(-10_000.0, 1.0), (0.0, 1_000.0)], ids=str)
def test_softmax_of_extremes(student, reference, draw, center, step):
    """Numbers far below zero, and numbers very far apart."""
    x = center + step * draw.integers(-10, 11, 4, 8)
    assert_matches(student(x, dim=-1), reference(x, dim=-1), LARGE_SCORES)


@exercise("run_softmax", aspect="numerics")
def test_softmax_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the input."""
    for dtype in DTYPES:
        x = draw(4, 6, dtype=dtype)
        actual = student(x, dim=-1)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(x, dim=-1), WEIGHTS[dtype])


@exercise("run_softmax", aspect="gradients")
def test_softmax_gradients(student, reference, draw):
    """Gradients reach the input."""
    x, cotangent = draw(3, 5), draw(3, 5)
    assert_gradients_match(
        student, reference, cotangent, wrt=("in_features",), in_features=x, dim=-1
    )


@exercise("run_softmax", aspect="discipline")
def test_softmax_on_another_device(student, draw):
    """The input may lie on a GPU."""
    assert_runs_on_another_device(student, draw(3, 5), dim=-1)


# --- run_simple_self_attention ------------------------------------------------------------------


@exercise("run_simple_self_attention")
def test_simple_self_attention_of_sequences(student, reference, draw):
    """A batch of sequences, each attending to itself."""
    x = draw(2, 7, 5, scale=0.7)
    assert_matches(student(x), reference(x))


@exercise("run_simple_self_attention", aspect="generality")
def test_simple_self_attention_of_one_token(student, reference, draw):
    """A single token attends to itself."""
    x = draw(2, 1, 4)
    assert_matches(student(x), reference(x))


@exercise("run_simple_self_attention", aspect="numerics")
@pytest.mark.parametrize("shape", [(2, 5, 4), (4, 3)], ids=str)
def test_simple_self_attention_with_large_scores(student, reference, draw, shape):
    """Scores of tens of thousands give no NaN."""
    x = 20.0 * draw.integers(-3, 4, *shape)
    assert_matches(student(x), reference(x), Tolerance(rtol=2e-3, atol=0.25))


@exercise("run_simple_self_attention", aspect="numerics")
def test_simple_self_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the input."""
    for dtype in DTYPES:
        x = draw(2, 4, 3, dtype=dtype, scale=0.5)
        actual = student(x)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(x))


@exercise("run_simple_self_attention", aspect="gradients")
def test_simple_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens, in all the parts that they play."""
    x, cotangent = draw(2, 4, 3, scale=0.5), draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), in_features=x)


@exercise("run_simple_self_attention", aspect="discipline")
def test_simple_self_attention_is_a_good_guest(student, draw):
    """The caller's tensor stays as it is, and where it is, be it on a GPU."""
    x = draw(2, 5, 4)
    assert_inputs_unchanged(student, x)
    assert_runs_on_another_device(student, x)


@exercise("run_simple_self_attention", aspect="efficiency")
def test_simple_self_attention_without_a_loop(student, reference, draw):
    """Larger inputs take no more torch operations."""
    small, large = {"in_features": draw(2, 4, 8)}, {"in_features": draw(8, 16, 8)}
    assert_work_does_not_grow(student, reference, small, large)


# --- run_self_attention -------------------------------------------------------------------------


@exercise("run_self_attention")
def test_self_attention_of_sequences(student, reference, draw):
    """A batch of sequences with weights from 5 to 8 features."""
    inputs = projections(draw, 5, 8) | {"in_features": draw(2, 7, 5)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_self_attention", aspect="generality")
@pytest.mark.parametrize(
    ("shape", "d_out"), [((2, 1, 4), 4), ((2, 5, 4), 4), ((3, 4), 2), ((2, 1, 3, 4), 1)], ids=str
)
def test_self_attention_of_any_shape(student, reference, draw, shape, d_out):
    """Any leading axes; a single token; a single feature."""
    inputs = projections(draw, 4, d_out) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_self_attention", aspect="numerics")
def test_self_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        x = draw(2, 4, 4, dtype=dtype, scale=0.5)
        inputs = projections(draw, 4, 4, dtype) | {"in_features": x}
        actual = student(**inputs)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs))


@exercise("run_self_attention", aspect="gradients")
def test_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 4, 4, scale=0.5)}
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_self_attention", aspect="discipline")
def test_self_attention_is_a_good_guest(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 5, 4)}
    assert_inputs_unchanged(student, **inputs)
    assert_runs_on_another_device(student, **inputs)


@exercise("run_self_attention", aspect="efficiency")
def test_self_attention_without_a_loop(student, reference, draw):
    """Larger inputs take no more torch operations."""
    weights = projections(draw, 6, 6)
    small, large = (weights | {"in_features": draw(n, 2 * n, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)


# --- run_causal_mask ----------------------------------------------------------------------------


@exercise("run_causal_mask")
@pytest.mark.parametrize("seq_len", [4, 9])
def test_causal_mask(student, reference, seq_len):
    """Every query may see itself and what came before."""
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
    assert_work_does_not_grow(student, reference, {"seq_len": 6}, {"seq_len": 24})


# --- run_attention_weights ----------------------------------------------------------------------


@exercise("run_attention_weights")
def test_attention_weights(student, reference, draw):
    """A batch of queries and keys, all allowed."""
    Q, K = draw(2, 6, 16), draw(2, 6, 16)
    assert_matches(student(Q, K), reference(Q, K))


@exercise("run_attention_weights")
def test_attention_weights_under_a_mask(student, reference, draw):
    """Masked keys get nothing at all, and each query's weights still sum to 1."""
    Q, K, mask = draw(2, 6, 8), draw(2, 9, 8), draw.mask(2, 6, 9, keep=0.4)
    weights = student(Q, K, mask)
    assert not weights[~mask].any(), "a masked key has a weight other than 0"
    assert_matches(weights.sum(dim=-1), torch.ones(2, 6), what="the sum of each query's weights")
    assert_matches(weights, reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 7), (5, 1)], ids=str)
def test_attention_weights_of_few_and_many(student, reference, draw, queries, keys):
    """A single query, a single key, odd sizes, and two leading axes."""
    Q, K = draw(2, 3, queries, 3), draw(2, 3, keys, 3)
    mask = draw.mask(2, 3, queries, keys)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="generality")
@pytest.mark.parametrize("mask_lead", [(), (2, 1)], ids=str)
def test_attention_weights_under_a_shared_mask(student, reference, draw, mask_lead):
    """A mask with fewer or shorter leading axes holds for all of them."""
    Q, K, mask = draw(2, 3, 4, 6), draw(2, 3, 5, 6), draw.mask(*mask_lead, 4, 5)
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="numerics")
@pytest.mark.parametrize("keys", [3, 6])
def test_attention_weights_with_large_scores(student, reference, draw, keys):
    """Scores of plus and minus ten thousand give no NaN."""
    Q = torch.cat((torch.full((2, 4, 1), 200.0), draw.integers(-2, 3, 2, 4, 15)), dim=-1)
    signs = 2 * draw.integers(0, 2, 2, keys, 1) - 1
    K = torch.cat((200.0 * signs, draw.integers(-2, 3, 2, keys, 15)), dim=-1)
    assert_matches(student(Q, K), reference(Q, K), LARGE_SCORES)


@exercise("run_attention_weights", aspect="numerics")
def test_attention_weights_with_a_far_larger_masked_score(student, reference, draw):
    """A masked key with the largest score by far leaves the others their shares."""
    Q, K = draw(2, 4, 6).abs(), draw(2, 5, 6)
    K[:, 2] = 300.0
    mask = torch.ones(2, 4, 5, dtype=torch.bool)
    mask[:, :, 2] = False
    assert_matches(student(Q, K, mask), reference(Q, K, mask))


@exercise("run_attention_weights", aspect="numerics")
def test_attention_weights_keep_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        Q, K, mask = draw(2, 4, 8, dtype=dtype), draw(2, 5, 8, dtype=dtype), draw.mask(2, 4, 5)
        actual = student(Q, K, mask)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(Q, K, mask), WEIGHTS[dtype])


@exercise("run_attention_weights", aspect="gradients")
def test_attention_weights_gradients(student, reference, draw):
    """Gradients reach queries and keys, and are numbers where keys are masked."""
    inputs = {"Q": draw(2, 4, 6), "K": draw(2, 5, 6), "mask": draw.mask(2, 4, 5)}
    cotangent = draw(2, 4, 5)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K"), **inputs)


@exercise("run_attention_weights", aspect="discipline")
def test_attention_weights_are_good_guests(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    Q, K, mask = draw(2, 4, 6), draw(2, 5, 6), draw.mask(2, 4, 5)
    assert_inputs_unchanged(student, Q, K, mask)
    assert_runs_on_another_device(student, Q, K, mask)


# --- run_attention_dropout ----------------------------------------------------------------------


@exercise("run_attention_dropout")
def test_dropout_in_evaluation(student, draw):
    """Without training the weights come back as they are."""
    weights = draw.uniform(3, 5, 7)
    assert_matches(student(weights, p=0.3, training=False), weights)


@exercise("run_attention_dropout")
@pytest.mark.parametrize("p", [0.1, 0.8])
def test_dropout_in_training(student, draw, p):
    """As many weights are dropped as p says, and the average stays what it was."""
    weights = 0.1 + draw.uniform(4, 32, 32)
    dropped = student(weights, p=p, training=True)
    share = (dropped == 0).float().mean().item()
    # 4096 weights: the limits are eight standard deviations away.
    limit = 8 * (p * (1 - p) / 4096) ** 0.5
    assert abs(share - p) < limit, f"with p={p} a share of {share:.3f} was dropped"
    assert_matches(dropped, torch.where(dropped == 0, 0.0, weights / (1 - p)))


@exercise("run_attention_dropout", aspect="generality")
def test_dropout_drops_each_weight_on_its_own(student):
    """Neither rows nor columns nor whole sequences share their fate."""
    kept = student(torch.ones(8, 32, 32), p=0.5, training=True) != 0
    for axis, name in enumerate(("sequences", "rows", "columns")):
        mixed = kept.any(dim=axis) & ~kept.all(dim=axis)
        assert mixed.any(), f"all {name} lose the same weights"


@exercise("run_attention_dropout", aspect="generality")
@pytest.mark.parametrize("shape", [(1024,), (4, 2, 8, 16)], ids=str)
def test_dropout_of_any_shape(student, draw, shape):
    """A single axis, or several."""
    weights = 0.1 + draw.uniform(*shape)
    dropped = student(weights, p=0.5, training=True)
    assert (dropped == 0).any(), "nothing was dropped"
    assert_matches(dropped, torch.where(dropped == 0, 0.0, 2.0 * weights))


@exercise("run_attention_dropout", aspect="numerics")
def test_dropout_keeps_the_dtype(student, draw):
    """The result has the dtype of the weights, in training as well."""
    for dtype in DTYPES:
        weights = (0.1 + draw.uniform(2, 16, 16)).to(dtype)
        dropped = student(weights, p=0.5, training=True)
        assert_keeps_dtype(dropped, dtype)
        assert_matches(dropped, torch.where(dropped == 0, 0.0, 2.0 * weights.double()))


@exercise("run_attention_dropout", aspect="gradients")
def test_dropout_gradients(student, draw):
    """A weight that was kept passes its gradient on by the same factor; the others pass none."""
    weights, cotangent = draw.uniform(4, 16, 16), torch.ones(4, 16, 16)
    passed = student.gradients(cotangent, wrt=("weights",), weights=weights, p=0.75, training=True)
    gradient = passed["weights"]
    assert (gradient != 0).any(), "no gradient passes"
    assert_matches(gradient, torch.where(gradient == 0, 0.0, 4.0), what="the gradient of weights")


@exercise("run_attention_dropout", aspect="discipline")
def test_dropout_leaves_its_input_alone(student, draw):
    """The caller's tensor is the same after the call."""
    assert_inputs_unchanged(student, draw.uniform(2, 8, 8), p=0.5, training=True)


@exercise("run_attention_dropout", aspect="discipline")
def test_dropout_on_another_device(student, draw):
    """The weights may lie on a GPU."""
    assert_runs_on_another_device(student, draw.uniform(2, 8, 8), p=0.5, training=True)


@exercise("run_attention_dropout", aspect="efficiency")
def test_dropout_without_a_loop(student, reference, draw):
    """More weights take no more torch operations."""
    small, large = ({"weights": draw.uniform(n, n), "p": 0.5, "training": True} for n in (4, 16))
    assert_work_does_not_grow(student, reference, small, large)
