"""The references agree with outside sources: torch's own attention, and published figures."""

import doctest
import inspect
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

import adapters
import assignment.attention
import assignment.positions
import assignment.warmup
import solutions

pytestmark = pytest.mark.unit

WEIGHTS = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
PARAMETERS = {
    "run_softmax": ("in_features", "dim"),
    "run_simple_self_attention": ("in_features",),
    "run_self_attention": ("W_query", "W_key", "W_value", "in_features"),
    "run_causal_mask": ("seq_len",),
    "run_attention_weights": ("Q", "K", "mask"),
    "run_attention_dropout": ("weights", "p", "training"),
    "run_scaled_dot_product_attention": ("Q", "K", "V", "mask"),
    "run_causal_self_attention": ("W_query", "W_key", "W_value", "in_features"),
    "run_multihead_attention_stacked": ("W_query", "W_key", "W_value", "in_features"),
    "run_multihead_self_attention": ("d_model", "num_heads", *WEIGHTS, "in_features"),
    "run_multihead_attention": (
        *("d_model", "num_heads", *WEIGHTS),
        *("query", "key", "value", "is_causal"),
    ),
    "run_sinusoidal_positional_encoding": ("seq_len", "d_model"),
    "run_rope": ("d_k", "theta", "max_seq_len", "in_query_or_key", "token_positions"),
    "run_multihead_self_attention_with_rope": (
        *("d_model", "num_heads", "max_seq_len", "theta", *WEIGHTS),
        *("in_features", "token_positions"),
    ),
    "run_parameter_count": ("d_in", "d_out", "qkv_bias", "out_bias"),
}
STUBS = [assignment.warmup, assignment.attention, assignment.positions]
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


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def projections(d_model: int) -> dict[str, torch.Tensor]:
    return {name: normal(d_model, d_model, seed=i) / 4 for i, name in enumerate(WEIGHTS)}


def torch_multihead(num_heads: int, weights: dict[str, torch.Tensor]) -> nn.MultiheadAttention:
    """Returns torch's own module with the given weights."""
    d_model = len(weights["q_proj_weight"])
    module = nn.MultiheadAttention(
        d_model, num_heads, bias=False, batch_first=True, dtype=torch.float64
    )
    joined = torch.cat([weights[name] for name in WEIGHTS[:3]])
    module.load_state_dict({"in_proj_weight": joined, "out_proj.weight": weights["o_proj_weight"]})
    return module


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def assert_published(actual: torch.Tensor, expected: list) -> None:
    """Asserts equality with figures that were published with four decimals."""
    wanted = torch.tensor(expected, dtype=actual.dtype)
    torch.testing.assert_close(actual, wanted, rtol=0, atol=5.1e-5)


# --- The contract -------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [adapters, solutions], ids=lambda module: module.__name__)
def test_adapters_and_references_have_the_names_and_parameters_of_the_contract(module):
    """The tests and other people's submissions rely on these names and parameters."""
    found = {name: f for name, f in vars(module).items() if name.startswith("run_")}
    parameters = {name: tuple(inspect.signature(f).parameters) for name, f in found.items()}
    assert parameters == PARAMETERS


@pytest.mark.parametrize("stubs", STUBS, ids=lambda module: module.__name__)
def test_the_references_reproduce_the_examples_of_the_stubs(stubs):
    """The right functions reproduce the examples that students read."""
    tried = 0
    answers = {name.removeprefix("run_"): getattr(solutions, name) for name in solutions.__all__}
    for example in doctest.DocTestFinder().find(stubs, globs=answers):
        result = doctest.DocTestRunner().run(example)
        assert result.failed == 0, example.name
        tried += bool(result.attempted)
    assert tried == len([f for f in vars(stubs).values() if inspect.isfunction(f)])


# --- Warm-up ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dim"), [((5,), 0), ((3, 4), -1), ((2, 3, 4), 1)], ids=str)
def test_softmax_equals_torchs_softmax(shape, dim):
    """The axis may be any."""
    x = 30 * normal(*shape)
    assert_close(solutions.run_softmax(x, dim), functional.softmax(x, dim))


def test_simple_self_attention_has_the_published_contexts():
    """The book's worked example."""
    contexts = solutions.run_simple_self_attention(TOKENS)
    assert_published(contexts[0], [0.4421, 0.5931, 0.5790])
    assert_published(contexts[1], [0.4419, 0.6515, 0.5683])
    assert_published(contexts[5], [0.4177, 0.6503, 0.5645])


def test_self_attention_has_the_published_contexts():
    """The book's worked example, with its seed."""
    torch.manual_seed(123)
    W_query, W_key, W_value = (torch.rand(3, 2) for _ in range(3))
    weights = solutions.run_attention_weights(TOKENS @ W_query, TOKENS @ W_key)
    assert_published(weights[1], [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820])
    contexts = solutions.run_self_attention(W_query, W_key, W_value, TOKENS)
    assert_published(contexts[1], [0.3061, 0.8210])
    assert_published(contexts[5], [0.2990, 0.8040])


def test_causal_mask_is_the_lower_triangle():
    """The diagonal is included."""
    expected = torch.ones(7, 7, dtype=torch.bool).tril()
    assert torch.equal(solutions.run_causal_mask(7), expected)


def test_dropout_keeps_the_expected_share_and_scales_kept_values():
    """torch's own dropout does the same with other random numbers."""
    torch.manual_seed(0)
    weights = torch.rand(200, 200, dtype=torch.float64) + 0.1
    dropped = solutions.run_attention_dropout(weights, p=0.2, training=True)
    kept = dropped != 0
    assert_close(dropped[kept], (weights / 0.8)[kept])
    assert abs(kept.double().mean() - 0.8) < 0.02
    assert torch.equal(solutions.run_attention_dropout(weights, p=0.2, training=False), weights)


# --- Attention ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_scaled_dot_product_attention_equals_torchs_attention(lead, masked):
    """The inputs have any leading axes, fewer or more keys than queries, and masks."""
    Q, K, V = normal(*lead, 5, 8), normal(*lead, 7, 8, seed=1), normal(*lead, 7, 6, seed=2)
    mask = (normal(*lead, 5, 7, seed=3) > 0) | torch.eye(5, 7, dtype=torch.bool)
    mask = mask if masked else None
    expected = functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    assert_close(solutions.run_scaled_dot_product_attention(Q, K, V, mask), expected)


def test_causal_and_stacked_heads_have_the_published_contexts():
    """The book's worked example, with its seed. Its layers keep their weights transposed."""
    torch.manual_seed(123)
    layers = [nn.Linear(3, 2, bias=False) for _ in range(6)]
    weights = torch.stack([layer.weight.detach().T for layer in layers]).unflatten(0, (2, 3))
    W_query, W_key, W_value = weights.unbind(1)
    first = solutions.run_causal_self_attention(W_query[0], W_key[0], W_value[0], TOKENS)
    assert_published(first[1], [-0.5874, 0.0058])
    both = solutions.run_multihead_attention_stacked(W_query, W_key, W_value, TOKENS)
    assert_published(both[0], [-0.4519, 0.2216, 0.4772, 0.1063])
    assert_published(both[5], [-0.5299, -0.1081, 0.5077, 0.3493])


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_multihead_self_attention_equals_torchs_module(num_heads):
    """The comparison gives torch's module a causal mask."""
    weights, x = projections(8), normal(3, 6, 8, seed=9)
    hidden = torch.ones(6, 6, dtype=torch.bool).triu(1)
    expected, _ = torch_multihead(num_heads, weights)(x, x, x, attn_mask=hidden)
    assert_close(
        solutions.run_multihead_self_attention(8, num_heads, *weights.values(), x), expected
    )


def test_multihead_self_attention_gives_the_same_without_a_batch():
    """torch's module takes no deeper inputs, so that each slice is compared by itself."""
    weights, x = projections(8), normal(2, 3, 6, 8, seed=9)
    whole = solutions.run_multihead_self_attention(8, 2, *weights.values(), x)
    part = solutions.run_multihead_self_attention(8, 2, *weights.values(), x[1, 2])
    assert_close(whole[1, 2], part)


@pytest.mark.parametrize("keys", [3, 6, 9])
def test_multihead_cross_attention_equals_torchs_module(keys):
    """The keys are fewer than, as many as, or more than the queries."""
    weights = projections(8)
    query, key, value = normal(3, 6, 8), normal(3, keys, 8, seed=1), normal(3, keys, 8, seed=2)
    expected, _ = torch_multihead(2, weights)(query, key, value)
    actual = solutions.run_multihead_attention(
        8, 2, *weights.values(), query, key, value, is_causal=False
    )
    assert_close(actual, expected)


@pytest.mark.parametrize("qkv_bias", [False, True])
@pytest.mark.parametrize("out_bias", [False, True])
def test_parameter_count_equals_the_parameters_that_torch_allocates(qkv_bias, out_bias):
    """The test counts the parameters of real layers."""
    layers = [nn.Linear(5, 3, bias=qkv_bias) for _ in range(3)] + [nn.Linear(3, 3, bias=out_bias)]
    allocated = sum(p.numel() for layer in layers for p in layer.parameters())
    assert solutions.run_parameter_count(5, 3, qkv_bias, out_bias) == allocated


def test_parameter_count_equals_the_published_figure():
    """The layer has 768 to 768 features, with a bias only in the output projection."""
    assert solutions.run_parameter_count(768, 768, False, True) == 2_360_064


# --- Positions ----------------------------------------------------------------------------------


def test_sinusoidal_encoding_follows_the_paper():
    """Each number follows from the formula of Vaswani et al. 2017, section 3.5."""
    encoding = solutions.run_sinusoidal_positional_encoding(9, 6)
    for position in range(9):
        for i in range(3):
            angle = position / 10_000 ** (2 * i / 6)
            assert encoding[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-7)
            assert encoding[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-7)


@pytest.mark.parametrize("theta", [10.0, 10_000.0])
def test_rope_equals_multiplication_by_complex_numbers(theta):
    """A rotation of a pair is a product of complex numbers, which torch supports."""
    x, positions = normal(2, 3, 5, 8), torch.tensor([7, 0, 31, 2, 2])
    frequencies = theta ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    turns = torch.polar(torch.ones(5, 4, dtype=torch.float64), torch.outer(positions, frequencies))
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (4, 2))) * turns)
    assert_close(solutions.run_rope(8, theta, 32, x, positions), expected.flatten(-2))


def test_rope_scores_depend_only_on_the_distance():
    """Su et al. 2021, section 3.2.1, require this property."""
    q, k = normal(8), normal(8, seed=1)

    def score(query_at: int, key_at: int) -> torch.Tensor:
        turned = solutions.run_rope(
            8, 10_000.0, 100, torch.stack((q, k)), torch.tensor([query_at, key_at])
        )
        return turned[0] @ turned[1]

    assert_close(score(5, 2), score(93, 90))


def test_multihead_attention_with_rope_equals_torchs_attention_on_rotated_heads():
    """torch's attention gets queries and keys that were rotated as complex numbers."""
    weights, x = projections(12), normal(2, 5, 12, seed=9)
    positions = torch.tensor([[4, 0, 9, 1, 1], [0, 1, 2, 3, 4]])
    q, k, v = (
        functional.linear(x, weights[n]).unflatten(-1, (3, 4)).transpose(1, 2) for n in WEIGHTS[:3]
    )
    frequencies = 100.0 ** (-torch.arange(0, 4, 2, dtype=torch.float64) / 4)
    angles = positions[:, None, :, None] * frequencies
    turns = torch.polar(torch.ones_like(angles), angles)
    q, k = (
        torch.view_as_real(torch.view_as_complex(t.unflatten(-1, (2, 2)).contiguous()) * turns)
        for t in (q, k)
    )
    heads = functional.scaled_dot_product_attention(q.flatten(-2), k.flatten(-2), v, is_causal=True)
    expected = functional.linear(heads.transpose(1, 2).flatten(-2), weights["o_proj_weight"])
    actual = solutions.run_multihead_self_attention_with_rope(
        12, 3, 10, 100.0, *weights.values(), x, positions
    )
    assert_close(actual, expected)


def test_positions_default_to_the_order_of_the_tokens():
    """The default positions are 0, 1, 2, ..."""
    weights, x = projections(8), normal(2, 5, 8, seed=9)
    arguments = (8, 2, 5, 10_000.0, *weights.values(), x)
    assert_close(
        solutions.run_multihead_self_attention_with_rope(*arguments),
        solutions.run_multihead_self_attention_with_rope(*arguments, torch.arange(5)),
    )
