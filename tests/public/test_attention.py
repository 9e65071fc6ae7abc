"""Part 2, attention: scaled dot-product, causal, stacked heads, multi-head, parameter count."""

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

# Six tokens ("Your journey starts with one step") and the weights of two heads, with what comes of
# them, all rounded to four decimals.
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
W_QUERY = torch.tensor(
    [
        [[-0.2354, 0.2177], [0.0191, -0.4919], [-0.2867, 0.4232]],
        [[-0.1362, 0.1076], [0.1853, 0.1579], [0.4083, 0.5573]],
    ]
)
W_KEY = torch.tensor(
    [
        [[-0.4196, 0.2615], [-0.4590, -0.2133], [-0.3648, 0.2161]],
        [[-0.2604, 0.4126], [0.1829, 0.4611], [-0.2569, -0.5323]],
    ]
)
W_VALUE = torch.tensor(
    [
        [[-0.4900, -0.1135], [-0.3503, -0.4404], [-0.2120, 0.3780]],
        [[0.4929, 0.2377], [0.2757, 0.4800], [0.2516, -0.0762]],
    ]
)
CAUSAL_CONTEXTS = torch.tensor(
    [
        [-0.4519, 0.2216, 0.4772, 0.1063],
        [-0.5874, 0.0058, 0.5891, 0.3257],
        [-0.6300, -0.0632, 0.6202, 0.3860],
        [-0.5675, -0.0843, 0.5478, 0.3589],
        [-0.5526, -0.0981, 0.5321, 0.3428],
        [-0.5299, -0.1081, 0.5077, 0.3493],
    ]
)
ROUNDED = Tolerance(rtol=0.0, atol=2e-4)
# Near 10000 float32 counts in steps of 0.001; a softmax by way of a logarithm keeps that error.
LARGE_SCORES = Tolerance(rtol=2e-3, atol=4e-3)


def batch_of_two(x: torch.Tensor) -> torch.Tensor:
    return torch.stack((x, x))


def projections(draw, *shape):
    names = ("W_query", "W_key", "W_value")
    return {name: draw(*shape, scale=shape[-2] ** -0.5) for name in names}


def multihead(draw, d_model, num_heads):
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5) for name in names}
    return {"d_model": d_model, "num_heads": num_heads} | weights


# --- run_scaled_dot_product_attention -----------------------------------------------------------


@exercise("run_scaled_dot_product_attention")
def test_attention_without_mask(student, reference, draw):
    """A batch of queries that attend to more keys than there are queries."""
    Q, K, V = draw(3, 5, 8), draw(3, 7, 8), draw(3, 7, 8)
    assert_matches(student(Q, K, V), reference(Q, K, V))


@exercise("run_scaled_dot_product_attention")
def test_attention_with_mask(student, reference, draw):
    """A batch of queries and keys under a mask."""
    Q, K, V = draw(3, 5, 8), draw(3, 7, 8), draw(3, 7, 8)
    mask = draw.mask(3, 5, 7)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention")
def test_attention_of_worked_tokens(student):
    """The context vectors of the worked example's first head, without a mask."""
    contexts = torch.tensor(
        [
            [-0.5337, -0.1051],
            [-0.5323, -0.1080],
            [-0.5323, -0.1079],
            [-0.5297, -0.1076],
            [-0.5311, -0.1066],
            [-0.5299, -0.1081],
        ]
    )
    Q, K, V = (batch_of_two(TOKENS @ W[0]) for W in (W_QUERY, W_KEY, W_VALUE))
    assert_matches(student(Q, K, V), batch_of_two(contexts), ROUNDED)


@exercise("run_scaled_dot_product_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or a batch and heads."""
    Q, K, V = draw(*lead, 5, 8), draw(*lead, 4, 8), draw(*lead, 4, 6)
    mask = draw.mask(*lead, 5, 4)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="generality")
def test_attention_with_one_mask_for_all(student, reference, draw):
    """A mask without leading axes holds for the whole batch."""
    Q, K, V, mask = draw(3, 5, 8), draw(3, 5, 8), draw(3, 5, 8), draw.mask(5, 5)
    assert_matches(student(Q, K, V, mask), reference(Q, K, V, mask))


@exercise("run_scaled_dot_product_attention", aspect="numerics")
def test_attention_with_large_scores(student, reference, draw):
    """Scores of thousands give no NaN."""
    Q, K, V = (
        100.0 * draw.integers(-3, 4, 2, 5, 4),
        5.0 * draw.integers(-3, 4, 2, 6, 4),
        draw(2, 6, 3),
    )
    assert_matches(student(Q, K, V), reference(Q, K, V), LARGE_SCORES)


@exercise("run_scaled_dot_product_attention", aspect="gradients")
def test_attention_gradients(student, reference, draw):
    """Gradients reach queries, keys and values."""
    inputs = {"Q": draw(2, 4, 6), "K": draw(2, 5, 6), "V": draw(2, 5, 3)}
    cotangent = draw(2, 4, 3)
    assert_gradients_match(student, reference, cotangent, wrt=("Q", "K", "V"), **inputs)


@exercise("run_scaled_dot_product_attention", aspect="discipline")
def test_attention_leaves_its_inputs_alone(student, draw):
    """The caller's tensors are the same after the call."""
    Q, K, V, mask = draw(2, 4, 6), draw(2, 5, 6), draw(2, 5, 3), draw.mask(2, 4, 5)
    assert_inputs_unchanged(student, Q, K, V, mask)


@exercise("run_scaled_dot_product_attention", aspect="efficiency")
def test_attention_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs take no more torch operations."""
    small = {"Q": draw(2, 4, 8), "K": draw(2, 4, 8), "V": draw(2, 4, 8)}
    large = {"Q": draw(8, 16, 8), "K": draw(8, 16, 8), "V": draw(8, 16, 8)}
    assert_work_does_not_grow(student, reference, small, large)


# --- run_causal_self_attention ------------------------------------------------------------------


@exercise("run_causal_self_attention")
def test_causal_self_attention_of_worked_tokens(student):
    """The worked example's first head."""
    actual = student(W_QUERY[0], W_KEY[0], W_VALUE[0], batch_of_two(TOKENS))
    assert_matches(actual, batch_of_two(CAUSAL_CONTEXTS[:, :2]), ROUNDED)


@exercise("run_causal_self_attention")
def test_causal_self_attention_of_a_batch(student, reference, draw):
    """A batch of sequences with weights from 6 to 4 features."""
    inputs = projections(draw, 6, 4) | {"in_features": draw(3, 5, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_causal_self_attention")
def test_causal_self_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 5, 6), projections(draw, 6, 4), projections(draw, 6, 4)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_causal_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_causal_self_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    inputs = projections(draw, 3, 5) | {"in_features": draw(*lead, 4, 3)}
    assert_matches(student(**inputs), reference(**inputs))


# --- run_multihead_attention_stacked ------------------------------------------------------------


@exercise("run_multihead_attention_stacked")
def test_stacked_heads_of_worked_tokens(student):
    """The worked example's two heads side by side."""
    actual = student(W_QUERY, W_KEY, W_VALUE, batch_of_two(TOKENS))
    assert_matches(actual, batch_of_two(CAUSAL_CONTEXTS), ROUNDED)


@exercise("run_multihead_attention_stacked")
def test_stacked_heads_of_a_batch(student, reference, draw):
    """A batch of sequences through three heads."""
    inputs = projections(draw, 3, 6, 4) | {"in_features": draw(2, 5, 6)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention_stacked")
def test_stacked_heads_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 5, 6), projections(draw, 3, 6, 4), projections(draw, 3, 6, 4)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_multihead_attention_stacked", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_stacked_heads_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    inputs = projections(draw, 2, 3, 5) | {"in_features": draw(*lead, 4, 3)}
    assert_matches(student(**inputs), reference(**inputs))


# --- run_multihead_self_attention ---------------------------------------------------------------


@exercise("run_multihead_self_attention")
@pytest.mark.parametrize("num_heads", [2, 4])
def test_multihead_self_attention_of_a_batch(student, reference, draw, num_heads):
    """A batch of sequences through several heads."""
    inputs = multihead(draw, 16, num_heads) | {"in_features": draw(3, 6, 16)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention")
def test_multihead_self_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    x, first, second = draw(2, 5, 8), multihead(draw, 8, 2), multihead(draw, 8, 2)
    before, after = student(**first, in_features=x), student(**second, in_features=x)
    assert_matches(before, reference(**first, in_features=x))
    assert_matches(after, reference(**second, in_features=x))


@exercise("run_multihead_self_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_multihead_self_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several."""
    inputs = multihead(draw, 12, 3) | {"in_features": draw(*lead, 5, 12)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_self_attention", aspect="generality")
def test_multihead_self_attention_looks_at_the_past_only(student, reference, draw):
    """A change in the last two tokens changes nothing before them."""
    weights, before, change = multihead(draw, 8, 2), draw(2, 6, 8), draw(2, 2, 8)
    after = torch.cat((before[:, :4], before[:, 4:] + change), dim=1)
    first = student(**weights, in_features=before)
    second = student(**weights, in_features=after)
    assert_matches(second[:, :4], first[:, :4], what="what the first four tokens see")
    assert_matches(second, reference(**weights, in_features=after))


@exercise("run_multihead_self_attention", aspect="gradients")
def test_multihead_self_attention_gradients(student, reference, draw):
    """Gradients reach the tokens."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(2, 5, 8)}
    cotangent = draw(2, 5, 8)
    assert_gradients_match(student, reference, cotangent, wrt=("in_features",), **inputs)


@exercise("run_multihead_self_attention", aspect="discipline")
def test_multihead_self_attention_leaves_its_inputs_alone(student, draw):
    """The caller's tensors, weights included, are the same after the call."""
    inputs = multihead(draw, 8, 2) | {"in_features": draw(2, 5, 8)}
    assert_inputs_unchanged(student, **inputs)


@exercise("run_multihead_self_attention", aspect="efficiency")
def test_multihead_self_attention_without_a_loop_over_tokens(student, reference, draw):
    """Larger inputs take no more torch operations."""
    weights = multihead(draw, 8, 2)
    small, large = (
        weights | {"in_features": draw(2, 4, 8)},
        weights | {"in_features": draw(8, 16, 8)},
    )
    assert_work_does_not_grow(student, reference, small, large)


# --- run_multihead_attention --------------------------------------------------------------------


@exercise("run_multihead_attention")
def test_multihead_attention_to_itself(student, reference, draw):
    """Query, key and value are one sequence, and all tokens see all."""
    x = draw(3, 6, 16)
    inputs = multihead(draw, 16, 4) | {"query": x, "key": x, "value": x, "is_causal": False}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention")
def test_multihead_attention_to_itself_causal(student, reference, draw):
    """Query, key and value are one sequence, and no token sees a later one."""
    x = draw(3, 6, 16)
    inputs = multihead(draw, 16, 4) | {"query": x, "key": x, "value": x, "is_causal": True}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_multihead_attention")
def test_multihead_attention_to_another_sequence(student, reference, draw):
    """Four queries attend to seven tokens of another sequence."""
    query, memory = draw(3, 4, 16), draw(3, 7, 16)
    inputs = multihead(draw, 16, 4) | {"query": query, "key": memory, "value": memory}
    assert_matches(student(**inputs, is_causal=False), reference(**inputs, is_causal=False))


@exercise("run_multihead_attention")
def test_multihead_attention_with_other_weights(student, reference, draw):
    """The same tokens with other weights have another result."""
    query, memory = draw(2, 4, 8), draw(2, 5, 8)
    tokens = {"query": query, "key": memory, "value": memory, "is_causal": False}
    first, second = multihead(draw, 8, 2) | tokens, multihead(draw, 8, 2) | tokens
    before, after = student(**first), student(**second)
    assert_matches(before, reference(**first))
    assert_matches(after, reference(**second))


@exercise("run_multihead_attention", aspect="generality")
@pytest.mark.parametrize("lead", [(), (2, 3)], ids=str)
def test_multihead_attention_with_other_leading_axes(student, reference, draw, lead):
    """No batch axis, or several; keys and values of their own."""
    query, key, value = draw(*lead, 5, 12), draw(*lead, 3, 12), draw(*lead, 3, 12)
    inputs = multihead(draw, 12, 3) | {"query": query, "key": key, "value": value}
    assert_matches(student(**inputs, is_causal=False), reference(**inputs, is_causal=False))


# --- run_parameter_count ------------------------------------------------------------------------


@exercise("run_parameter_count")
def test_parameter_count_of_gpt2_small(student):
    """768 features in and out, a bias in the output projection only."""
    count = student(d_in=768, d_out=768, qkv_bias=False, out_bias=True)
    assert count == 2_360_064, f"768 to 768 features have 2360064 parameters, not {count}"


@exercise("run_parameter_count", aspect="generality")
def test_parameter_count_with_two_widths(student, reference):
    """As many output features as you like, and biases everywhere."""
    sizes = {"d_in": 3, "d_out": 8, "qkv_bias": True, "out_bias": True}
    assert_matches(student(**sizes), reference(**sizes))
