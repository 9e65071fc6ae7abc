"""The language model: what the grade looks at beyond the public tests."""

import pytest
from tests.public.inputs import language_model

from grader.testing import (
    assert_matches,
    assert_same_answer_twice,
    assert_work_does_not_grow,
    exercise,
)
from tests.public.tolerances import OF_A_MODEL


@exercise("run_transformer_lm")
@pytest.mark.parametrize(("d_model", "num_heads", "d_ff"), [(16, 4, 24), (8, 2, 8)], ids=str)
def test_language_model(student, reference, draw, d_model, num_heads, d_ff):
    """A batch of texts through three blocks."""
    sizes = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
    inputs = language_model(draw, num_layers=3, **sizes)
    inputs["in_indices"] = draw.integers(0, 17, 2, 7)
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_lm", aspect="generality")
@pytest.mark.parametrize(
    "sizes",
    [
        {"num_layers": 1, "vocab_size": 8, "d_model": 8},
        {"num_layers": 11, "num_heads": 1},
        {"rope_theta": 50.0, "context_length": 12},
    ],
    ids=["one block", "eleven blocks of one head", "another theta"],
)
def test_language_model_of_other_sizes(student, reference, draw, sizes):
    """One block, eleven of one head, as many tokens as features, another base of frequencies."""
    inputs = language_model(draw, **sizes)
    # Errors grow with each block, so most of many blocks add nothing to their input.
    for block in range(3, inputs["num_layers"] - 1):
        for weight in ("attn.output_proj", "ffn.w2"):
            inputs["weights"][f"layers.{block}.{weight}.weight"] *= 0.0
    # Weights are found by their names, whichever order they have.
    inputs["weights"] = dict(reversed(inputs["weights"].items()))
    inputs["in_indices"] = draw.integers(0, inputs["vocab_size"], 2, inputs["context_length"] - 1)
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_lm", aspect="generality")
def test_language_model_is_causal(student, reference, draw):
    """Another last token changes the scores after it, and none before."""
    inputs, ids = language_model(draw), draw.integers(0, 16, 2, 6)
    changed = ids.clone()
    changed[:, -1] += 1
    first, second = student(**inputs, in_indices=ids), student(**inputs, in_indices=changed)
    assert_matches(
        second[:, :-1],
        first[:, :-1],
        what="the earlier scores, which a later token must not change,",
    )
    assert_matches(second, reference(**inputs, in_indices=changed), OF_A_MODEL)


@exercise("run_transformer_lm", aspect="numerics")
def test_language_model_of_small_embeddings(student, reference, draw):
    """Where embeddings are small, eps has a say."""
    inputs = language_model(draw) | {"in_indices": draw.integers(0, 17, 2, 6)}
    inputs["weights"]["token_embeddings.weight"] = draw(17, 8, scale=0.002)
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_lm", aspect="discipline")
def test_language_model_is_the_same_twice(student, draw):
    """A second call returns the same."""
    assert_same_answer_twice(student, **language_model(draw), in_indices=draw.integers(0, 17, 2, 5))


@exercise("run_transformer_lm", aspect="efficiency")
def test_language_model_without_a_loop_over_tokens(student, reference, draw):
    """Longer texts need no more operations or huge tensors; a loop over blocks or heads is fine."""
    model = language_model(draw, context_length=16)
    small, large = (model | {"in_indices": draw.integers(0, 17, n, 2 * n)} for n in (2, 8))
    assert_work_does_not_grow(student, reference, small, large)
