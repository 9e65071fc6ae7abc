"""Multi-head attention: what the grade looks at beyond the public tests."""

import pytest

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import DTYPES
from tests.hidden.telling_inputs import change_from, sharp_multihead, strided
from tests.public.tolerances import LARGE_SCORES
from tests.public.weights import multihead


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
@pytest.mark.parametrize("lead", [(), (1,), (1, 2, 3)], ids=str)
@pytest.mark.parametrize(("keys", "is_causal"), [(4, True), (5, False)], ids=str)
def test_multihead_attention_of_any_depth(student, reference, draw, lead, keys, is_causal):
    """Any number of leading axes, causal or not."""
    inputs = multihead(draw, 8, 2) | {"query": draw(*lead, 4, 8), "is_causal": is_causal}
    inputs |= {"key": draw(*lead, keys, 8), "value": draw(*lead, keys, 8)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention", aspect="generality")
@pytest.mark.parametrize(
    "sizes", [(8, 1, 5, 2), (6, 6, 1, 70), (15, 3, 70, 64), (8, 2, 70, 70)], ids=str
)
def test_multihead_attention_of_other_sizes(student, reference, draw, sizes):
    """One head, as many heads as features; one query and many; causal if as many as keys."""
    d_model, num_heads, queries, keys = sizes
    inputs = multihead(draw, d_model, num_heads) | {"query": draw(2, queries, d_model)}
    inputs |= {"key": draw(2, keys, d_model), "value": draw(2, keys, d_model)}
    inputs |= {"is_causal": queries == keys}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention", aspect="generality")
def test_causal_multihead_attention_of_three_tensors(student, reference, draw):
    """Causal, with query, key and value of equal length that are not the same, unbatched."""
    inputs = multihead(draw, 8, 2) | {"query": draw(5, 8), "key": draw(5, 8), "value": draw(5, 8)}
    assert_matches(student(**inputs, is_causal=True), reference(**inputs, is_causal=True))


@exercise("run_multihead_attention", aspect="generality")
def test_causal_multihead_attention_of_tokens_of_zeros(student, reference, draw):
    """A token of zeros has a score of zero with every token, and hides none."""
    x = draw(2, 5, 8)
    x = change_from(3, x, -x)
    inputs = multihead(draw, 8, 2) | {"query": x, "key": x, "value": x, "is_causal": True}
    assert_matches(student(**inputs), reference(**inputs))


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
    inputs = multihead(draw, 8, 2) | {"query": draw(2, 5, 8), "is_causal": True}
    check(student, **inputs, key=draw(2, 5, 8), value=draw(2, 5, 8))


@exercise("run_multihead_attention", aspect="discipline")
def test_multihead_attention_of_strided_inputs(student, reference, draw):
    """Tokens and weights need not be contiguous in memory."""
    inputs = multihead(draw, 8, 2) | {"query": strided(draw, 2, 3, 4, 8), "is_causal": False}
    inputs |= {"key": strided(draw, 2, 3, 5, 8), "value": strided(draw, 2, 3, 5, 8)}
    inputs["v_proj_weight"] = inputs["v_proj_weight"].T
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention", aspect="efficiency")
def test_multihead_attention_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs need no more operations and no huge tensors; a loop over heads is no harm."""
    weights = multihead(draw, 8, 2) | {"is_causal": True}
    small, large = (
        weights | {"query": draw(n, 2 * n, 8), "key": draw(n, 2 * n, 8), "value": draw(n, 2 * n, 8)}
        for n in (2, 8)
    )
    assert_work_does_not_grow(student, reference, small, large)
