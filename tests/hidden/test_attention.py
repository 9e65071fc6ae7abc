"""Part 2, attention: what the grade looks at beyond the public tests."""

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


def projections(draw, *shape, dtype=torch.float32):
    names = ("W_query", "W_key", "W_value")
    return {name: draw(*shape, scale=shape[-2] ** -0.5, dtype=dtype) for name in names}


def multihead(draw, d_model, num_heads, dtype=torch.float32):
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5, dtype=dtype) for name in names}
    return {"d_model": d_model, "num_heads": num_heads} | weights


def sharp_multihead(d_model, num_heads):
    """Weights under which whole numbers give whole scores of many thousands."""
    one = torch.eye(d_model)
    weights = {f"{which}_proj_weight": one for which in "kvo"}
    return {"d_model": d_model, "num_heads": num_heads, "q_proj_weight": 1_000.0 * one} | weights


def change_from(position, x, change):
    """The tokens `x`, changed from a position on."""
    return torch.cat((x[:, :position], x[:, position:] + change[:, position:]), dim=1)


# --- run_scaled_dot_product_attention -----------------------------------------------------------


@exercise("run_scaled_dot_product_attention")
@pytest.mark.parametrize("keys", [4, 6])
def test_attention(student, reference, draw, keys):
    """A batch of six queries with fewer and with as many keys."""
    Q, K, V = draw(2, 6, 16), draw(2, keys, 16), draw(2, keys, 16)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention")
def test_attention_under_a_mask(student, reference, draw):
    """A batch of queries and keys under a mask."""
    Q, K, V = draw(2, 6, 16), draw(2, 9, 16), draw(2, 9, 16)
    mask = draw.mask(2, 6, 9, keep=0.5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3, 2)], ids=str)
def test_attention_of_any_depth(student, reference, draw, lead):
    """Any number of leading axes, and values wider than keys."""
    Q, K, V = draw(*lead, 3, 5), draw(*lead, 4, 5), draw(*lead, 4, 7)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(1, 5, 3, 2), (4, 1, 3, 2), (3, 3, 1, 1)], ids=str)
def test_attention_of_single_things(student, reference, draw, sizes):
    """A single query, a single key, a single feature."""
    queries, keys, d_k, d_v = sizes
    Q, K, V = draw(2, queries, d_k), draw(2, keys, d_k), draw(2, keys, d_v)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("mask_lead", [(), (2, 1)], ids=str)
def test_attention_under_a_shared_mask(student, reference, draw, mask_lead):
    """A mask with fewer or shorter leading axes holds for all of them."""
    Q, K, V = draw(2, 3, 4, 6), draw(2, 3, 5, 6), draw(2, 3, 5, 6)
    mask = draw.mask(*mask_lead, 4, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_to_one_key_each(student, reference, draw):
    """A query that may see a single key gets that key's value."""
    Q, K, V, seen = draw(2, 6, 8), draw(2, 6, 8), draw(2, 6, 8), draw.permutation(6)
    mask = torch.eye(6, dtype=torch.bool)[seen].expand(2, 6, 6)
    actual = student(Q, K, V, mask)
    assert_matches(actual, V[:, seen])
    assert_matches(actual, reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_does_not_see_padding(student, reference, draw):
    """What stands in masked keys and values makes no difference."""
    Q, K, V, noise = draw(2, 4, 6), draw(2, 7, 6), draw(2, 7, 6), draw(2, 2, 6, scale=9.0)
    mask = (torch.arange(7) < 5).expand(2, 4, 7)
    padded = (Q, torch.cat((K[:, :5], noise), 1), torch.cat((V[:, :5], noise), 1), mask)
    first, second = student(Q, K, V, mask), student(*padded)
    assert_matches(second, first, what="the result with other padding")
    assert_matches(second, reference(*padded))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_does_not_care_for_the_order_of_keys(student, reference, draw):
    """Keys, values and mask may be shuffled together."""
    Q, K, V, mask = draw(2, 4, 6), draw(2, 7, 6), draw(2, 7, 6), draw.mask(2, 4, 7)
    order = draw.permutation(7)
    first = student(Q, K, V, mask)
    second = student(Q, K[:, order], V[:, order], mask[:, :, order])
    assert_matches(second, first, what="the result with shuffled keys")
    assert_matches(first, reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_very_large_scores(student, reference, draw):
    """Scores of plus and minus ten thousand give no NaN, with a mask either."""
    Q = torch.cat((torch.full((2, 4, 1), 200.0), draw.integers(-2, 3, 2, 4, 15)), dim=-1)
    signs = 2 * draw.integers(0, 2, 2, 6, 1) - 1
    K = torch.cat((200.0 * signs, draw.integers(-2, 3, 2, 6, 15)), dim=-1)
    V, mask = draw(2, 6, 3), draw.mask(2, 4, 6)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask), LARGE_SCORES)


@exercise("run_scaled_dot_product_attention", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_attention_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    Q, K, V = draw(2, 4, 8, dtype=dtype), draw(2, 6, 8, dtype=dtype), draw(2, 6, 8, dtype=dtype)
    mask = draw.mask(2, 4, 6)
    actual = student(Q, K, V, mask)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="gradients")
def test_attention_gradients_under_a_mask(student, reference, draw):
    """Gradients reach queries, keys and values, and are numbers where keys are masked."""
    inputs = {"Q": draw(2, 2, 4, 6), "K": draw(2, 2, 5, 6), "V": draw(2, 2, 5, 3)}
    inputs["mask"] = draw.mask(2, 2, 4, 5)
    cotangent = draw(2, 2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K", "V"), **inputs)


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_on_another_device(student, draw):
    """The inputs may lie on a GPU."""
    Q, K, V, mask = draw(2, 4, 6), draw(2, 5, 6), draw(2, 5, 3), draw.mask(2, 4, 5)
    assert_runs_on_another_device(student, Q, K, V, mask)


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_of_split_heads(student, reference, draw):
    """Inputs need not be contiguous: heads are split off by a transposition."""
    Q, K, V = (draw(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
    mask = draw.mask(5, 5).T.contiguous().T.expand(2, 3, 5, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_is_the_same_twice(student, draw):
    """A second call returns the same."""
    assert_same_answer_twice(student, draw(2, 4, 6), draw(2, 5, 6), draw(2, 5, 3))


# --- run_causal_self_attention ------------------------------------------------------------------


@exercise("run_causal_self_attention")
def test_causal_self_attention(student, reference, draw):
    """A batch of sequences with weights from 5 to 8 features."""
    inputs = projections(draw, 5, 8) | {"in_features": draw(2, 7, 5)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention", aspect="generality")
@pytest.mark.parametrize("shape", [(2, 1, 4), (5, 4), (2, 1, 3, 4)], ids=str)
def test_causal_self_attention_of_any_shape(student, reference, draw, shape):
    """Any leading axes; a single token."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention", aspect="generality")
def test_causal_self_attention_looks_at_the_past_only(student, reference, draw):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = projections(draw, 4, 4), draw(2, 6, 4), draw(2, 6, 4)
    changed = change_from(3, x, change)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    assert_matches(second[:, :3], first[:, :3], what="what the tokens before the change see")
    assert_matches(second, reference(**weights, in_features=changed))


@exercise("run_causal_self_attention", aspect="numerics")
def test_causal_self_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        x = draw(2, 5, 4, dtype=dtype, scale=0.5)
        inputs = projections(draw, 4, 4, dtype=dtype) | {"in_features": x}
        actual = student(**inputs)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs))


@exercise("run_causal_self_attention", aspect="gradients")
def test_causal_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens, and are numbers."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 4, 4, scale=0.5)}
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_causal_self_attention", aspect="discipline")
def test_causal_self_attention_is_a_good_guest(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    inputs = projections(draw, 4, 3) | {"in_features": draw(2, 5, 4)}
    assert_inputs_unchanged(student, **inputs)
    assert_runs_on_another_device(student, **inputs)


@exercise("run_causal_self_attention", aspect="efficiency")
def test_causal_self_attention_without_a_loop(student, reference, draw):
    """Larger inputs take no more torch operations."""
    weights = projections(draw, 6, 6)
    small, large = (weights | {"in_features": draw(n, 2 * n, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)


# --- run_multihead_attention_stacked ------------------------------------------------------------


@exercise("run_multihead_attention_stacked")
def test_stacked_heads(student, reference, draw):
    """A batch of sequences through four heads."""
    inputs = projections(draw, 4, 8, 3) | {"in_features": draw(3, 6, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="generality")
@pytest.mark.parametrize(
    ("shape", "heads"), [((2, 1, 4), 3), ((3, 5, 4), 3), ((5, 4), 2), ((2, 3, 4, 4), 1)], ids=str
)
def test_stacked_heads_of_any_shape(student, reference, draw, shape, heads):
    """Any leading axes, also as many as there are heads; a single token; a single head."""
    inputs = projections(draw, heads, 4, 2) | {"in_features": draw(*shape)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="generality")
def test_stacked_heads_look_at_the_past_only(student, reference, draw):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = projections(draw, 2, 4, 3), draw(2, 6, 4), draw(2, 6, 4)
    changed = change_from(3, x, change)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    assert_matches(second[:, :3], first[:, :3], what="what the tokens before the change see")
    assert_matches(second, reference(**weights, in_features=changed))


@exercise("run_multihead_attention_stacked", aspect="numerics")
def test_stacked_heads_keep_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        x = draw(2, 5, 4, dtype=dtype, scale=0.5)
        inputs = projections(draw, 2, 4, 3, dtype=dtype) | {"in_features": x}
        actual = student(**inputs)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs))


@exercise("run_multihead_attention_stacked", aspect="gradients")
def test_stacked_heads_gradients(student, reference, draw):
    """Gradients reach the tokens through every head."""
    inputs = projections(draw, 2, 4, 3) | {"in_features": draw(2, 4, 4, scale=0.5)}
    cotangent = draw(2, 4, 6)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_multihead_attention_stacked", aspect="discipline")
def test_stacked_heads_are_good_guests(student, draw):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    inputs = projections(draw, 2, 4, 3) | {"in_features": draw(2, 5, 4)}
    assert_inputs_unchanged(student, **inputs)
    assert_runs_on_another_device(student, **inputs)


@exercise("run_multihead_attention_stacked", aspect="efficiency")
def test_stacked_heads_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs take no more torch operations; a loop over heads is no harm."""
    weights = projections(draw, 2, 6, 3)
    small, large = (weights | {"in_features": draw(n, 2 * n, 6)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)


# --- run_multihead_self_attention ---------------------------------------------------------------


@exercise("run_multihead_self_attention")
@pytest.mark.parametrize(("d_model", "num_heads"), [(16, 4), (32, 2)], ids=str)
def test_multihead_self_attention(student, reference, draw, d_model, num_heads):
    """A batch of sequences through several heads."""
    inputs = multihead(draw, d_model, num_heads) | {"in_features": draw(2, 7, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 1, 3)], ids=str)
def test_multihead_self_attention_of_any_depth(student, reference, draw, lead):
    """Any number of leading axes."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(*lead, 5, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(8, 1, 5), (6, 6, 1), (15, 3, 4), (8, 4, 4)], ids=str)
def test_multihead_self_attention_of_other_sizes(student, reference, draw, sizes):
    """One head, as many heads as features, odd sizes, one token, as many heads as tokens."""
    d_model, num_heads, seq = sizes
    inputs = multihead(draw, d_model, num_heads) | {"in_features": draw(2, seq, d_model)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("position", [1, 5])
def test_multihead_self_attention_is_causal(student, reference, draw, position):
    """A changed token changes itself and what follows, and nothing before."""
    weights, x, change = multihead(draw, 8, 2), draw(2, 6, 8), draw(2, 6, 8)
    changed = change_from(position, x, change)
    first, second = student(**weights, in_features=x), student(**weights, in_features=changed)
    before = (slice(None), slice(position))
    assert_matches(second[before], first[before], what="what the tokens before the change see")
    assert_matches(second, reference(**weights, in_features=changed))


@exercise("run_multihead_self_attention", aspect="numerics")
@pytest.mark.parametrize("num_heads", [1, 2])
def test_multihead_self_attention_with_large_scores(student, reference, draw, num_heads):
    """Scores of more than ten thousand give no NaN."""
    inputs = sharp_multihead(8, num_heads) | {"in_features": draw.integers(-3, 4, 2, 6, 8).float()}
    assert_matches(student(**inputs), reference(**inputs), LARGE_SCORES)


@exercise("run_multihead_self_attention", aspect="numerics")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_multihead_self_attention_keeps_the_dtype(student, reference, draw, dtype):
    """The result has the dtype of the inputs."""
    inputs = multihead(draw, 8, 2, dtype) | {"in_features": draw(2, 5, 8, dtype=dtype)}
    actual = student(**inputs)
    assert_keeps_dtype(actual, dtype)
    assert_matches(actual, reference(**inputs))


@exercise("run_multihead_self_attention", aspect="discipline")
@pytest.mark.parametrize("check", [assert_same_answer_twice, assert_runs_on_another_device])
def test_multihead_self_attention_is_a_good_guest(student, draw, check):
    """A second call returns the same, and everything stays where it is, be it on a GPU."""
    check(student, **multihead(draw, 8, 2), in_features=draw(2, 5, 8))


@exercise("run_multihead_self_attention", aspect="discipline")
def test_multihead_self_attention_of_strided_inputs(student, reference, draw):
    """Inputs need not be contiguous: tokens transposed and repeated, weights transposed."""
    inputs = multihead(draw, 8, 2)
    inputs["q_proj_weight"] = inputs["q_proj_weight"].T
    inputs["in_features"] = draw(5, 2, 8).transpose(0, 1).expand(3, 2, 5, 8)[:, 0]
    assert_matches(student(**inputs), reference(**inputs))


# --- run_multihead_attention --------------------------------------------------------------------


@exercise("run_multihead_attention")
@pytest.mark.parametrize("is_causal", [False, True])
def test_multihead_attention_of_one_sequence(student, reference, draw, is_causal):
    """Query, key and value are one sequence."""
    x = draw(2, 7, 16)
    inputs = multihead(draw, 16, 2) | {"query": x, "key": x, "value": x, "is_causal": is_causal}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention")
@pytest.mark.parametrize("keys", [3, 9])
def test_multihead_attention_of_two_sequences(student, reference, draw, keys):
    """Five queries with fewer and with more keys, whose values are tensors of their own."""
    inputs = multihead(draw, 16, 4) | {"query": draw(2, 5, 16), "is_causal": False}
    inputs |= {"key": draw(2, keys, 16), "value": draw(2, keys, 16)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 1, 3)], ids=str)
@pytest.mark.parametrize(("keys", "is_causal"), [(4, True), (5, False)], ids=str)
def test_multihead_attention_of_any_depth(student, reference, draw, lead, keys, is_causal):
    """Any number of leading axes, causal or not."""
    inputs = multihead(draw, 8, 2) | {"query": draw(*lead, 4, 8), "is_causal": is_causal}
    inputs |= {"key": draw(*lead, keys, 8), "value": draw(*lead, keys, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention", aspect="generality")
@pytest.mark.parametrize("sizes", [(8, 1, 5, 2), (6, 6, 1, 4), (15, 3, 4, 1)], ids=str)
def test_multihead_attention_of_other_sizes(student, reference, draw, sizes):
    """One head, as many heads as features, one query, one key."""
    d_model, num_heads, queries, keys = sizes
    inputs = multihead(draw, d_model, num_heads) | {"query": draw(2, queries, d_model)}
    inputs |= {"key": draw(2, keys, d_model), "value": draw(2, keys, d_model), "is_causal": False}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention", aspect="generality")
def test_causal_multihead_attention_of_three_tensors(student, reference, draw):
    """Causal, with query, key and value of equal length that are not the same, unbatched."""
    inputs = multihead(draw, 8, 2) | {"query": draw(5, 8), "key": draw(5, 8), "value": draw(5, 8)}
    assert_matches(student(**inputs, is_causal=True), reference(**inputs, is_causal=True))


@exercise("run_multihead_attention", aspect="generality")
def test_multihead_attention_does_not_care_for_the_order_of_keys(student, reference, draw):
    """Keys and values may be shuffled together."""
    weights, query, order = multihead(draw, 8, 2), draw(2, 4, 8), draw.permutation(6)
    key, value = draw(2, 6, 8), draw(2, 6, 8)
    common = weights | {"query": query, "is_causal": False}
    first = student(**common, key=key, value=value)
    second = student(**common, key=key[:, order], value=value[:, order])
    assert_matches(second, first, what="the result with shuffled keys")
    assert_matches(first, reference(**common, key=key, value=value))


@exercise("run_multihead_attention", aspect="numerics")
@pytest.mark.parametrize("num_heads", [1, 2])
def test_multihead_attention_with_large_scores(student, reference, draw, num_heads):
    """Scores of more than ten thousand give no NaN."""
    query, memory = draw.integers(-3, 4, 2, 4, 8).float(), draw.integers(-3, 4, 2, 6, 8).float()
    inputs = sharp_multihead(8, num_heads) | {"query": query, "key": memory, "value": memory}
    inputs |= {"is_causal": False}
    assert_matches(student(**inputs), reference(**inputs), LARGE_SCORES)


@exercise("run_multihead_attention", aspect="numerics")
def test_multihead_attention_keeps_the_dtype(student, reference, draw):
    """The result has the dtype of the inputs."""
    for dtype in DTYPES:
        query, memory = draw(2, 4, 8, dtype=dtype), draw(2, 5, 8, dtype=dtype)
        inputs = multihead(draw, 8, 2, dtype) | {"query": query, "key": memory, "value": memory}
        actual = student(**inputs, is_causal=False)
        assert_keeps_dtype(actual, dtype)
        assert_matches(actual, reference(**inputs, is_causal=False))


@exercise("run_multihead_attention", aspect="gradients")
def test_multihead_attention_gradients(student, reference, draw):
    """Gradients reach the queries, the keys and the values."""
    inputs = multihead(draw, 8, 2) | {"query": draw(2, 3, 8), "is_causal": False}
    inputs |= {"key": draw(2, 4, 8), "value": draw(2, 4, 8)}
    cotangent = draw(2, 3, 8)
    wrt = ("query", "key", "value")
    assert_gradients_match(student, reference, cotangent, wrt=wrt, **inputs)


@exercise("run_multihead_attention", aspect="discipline")
@pytest.mark.parametrize("check", [assert_inputs_unchanged, assert_runs_on_another_device])
def test_multihead_attention_is_a_good_guest(student, draw, check):
    """The caller's tensors stay as they are, and where they are, be it on a GPU."""
    query, memory = draw(2, 4, 8), draw(2, 5, 8)
    inputs = multihead(draw, 8, 2) | {"query": query, "key": memory, "value": memory}
    check(student, **inputs, is_causal=False)


@exercise("run_multihead_attention", aspect="efficiency")
def test_multihead_attention_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs take no more torch operations; a loop over heads is no harm."""
    weights = multihead(draw, 8, 2) | {"is_causal": True}
    small, large = (
        weights | {"query": draw(n, 2 * n, 8), "key": draw(n, 2 * n, 8), "value": draw(n, 2 * n, 8)}
        for n in (2, 8)
    )
    assert_work_does_not_grow(student, reference, small, large)


# --- run_parameter_count ------------------------------------------------------------------------


@exercise("run_parameter_count")
@pytest.mark.parametrize("out_bias", [False, True])
def test_parameter_count_of_one_width(student, reference, out_bias):
    """As many features out as in, without biases for queries, keys and values."""
    sizes = {"d_in": 512, "d_out": 512, "qkv_bias": False, "out_bias": out_bias}
    assert_matches(student(**sizes), reference(**sizes))


@exercise("run_parameter_count", aspect="generality")
@pytest.mark.parametrize(("d_in", "d_out", "qkv_bias"), [(5, 2, False), (1, 7, True)], ids=str)
def test_parameter_count_of_two_widths(student, reference, d_in, d_out, qkv_bias):
    """More or fewer features out than in."""
    sizes = {"d_in": d_in, "d_out": d_out, "qkv_bias": qkv_bias, "out_bias": False}
    assert_matches(student(**sizes), reference(**sizes))
