"""Self-attention with weights: the tests that you have at home."""

import pytest
import torch

from grader.testing import assert_matches, exercise
from tests.public.tolerances import ROUNDED
from tests.public.weights import projections
from tests.public.worked_example import (
    OF_OTHER_TOKENS,
    TOKENS,
    W_KEY,
    W_QUERY,
    W_VALUE,
    batch_of_two,
)


@exercise("run_self_attention")
def test_self_attention_of_worked_tokens(student, reference, draw):
    """The six context vectors of the worked example with weights, and those of other tokens."""
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
    weights, others = (W_QUERY, W_KEY, W_VALUE), draw.uniform(2, 6, 3)
    assert_matches(student(*weights, batch_of_two(TOKENS)), batch_of_two(contexts), ROUNDED)
    assert_matches(student(*weights, others), reference(*weights, others), what=OF_OTHER_TOKENS)


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
