"""The language model: the tests that you have at home."""

import pytest
from tests.public.inputs import language_model

from grader.testing import assert_inputs_unchanged, assert_matches, exercise
from tests.public.tolerances import OF_A_MODEL


@exercise("run_transformer_lm")
@pytest.mark.parametrize("num_layers", [2, 3])
def test_language_model_of_a_batch(student, reference, draw, num_layers):
    """A batch of texts that fill the context."""
    inputs = language_model(draw, num_layers=num_layers)
    inputs["in_indices"] = draw.integers(0, 17, 3, 8)
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_lm")
def test_language_model_with_other_weights(student, reference, draw):
    """The same text with other weights has other scores."""
    first, second = language_model(draw, d_ff=8), language_model(draw, d_ff=8)
    ids = draw.integers(0, 17, 2, 8)
    before, after = student(**first, in_indices=ids), student(**second, in_indices=ids)
    assert_matches(before, reference(**first, in_indices=ids), OF_A_MODEL)
    assert_matches(after, reference(**second, in_indices=ids), OF_A_MODEL)


@exercise("run_transformer_lm", aspect="generality")
@pytest.mark.parametrize("shape", [(2, 4), (1, 1)], ids=str)
def test_language_model_of_short_texts(student, reference, draw, shape):
    """Texts that do not fill the context, down to a single token."""
    inputs = language_model(draw) | {"in_indices": draw.integers(0, 17, *shape)}
    assert_matches(student(**inputs), reference(**inputs), OF_A_MODEL)


@exercise("run_transformer_lm", aspect="discipline")
def test_language_model_leaves_its_inputs_alone(student, draw):
    """The caller's token ids and weights are the same after the call."""
    inputs = language_model(draw) | {"in_indices": draw.integers(0, 17, 2, 5)}
    assert_inputs_unchanged(student, **inputs)
