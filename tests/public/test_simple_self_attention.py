"""Self-attention without weights: the tests that you have at home."""

import pytest
import torch

from grader.testing import assert_matches, exercise
from tests.public.tolerances import ROUNDED
from tests.public.worked_example import OF_OTHER_TOKENS, TOKENS, batch_of_two


@exercise("run_simple_self_attention")
def test_simple_self_attention_of_worked_tokens(student, reference, draw):
    """The six context vectors of the worked example, and those of other tokens."""
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
    others = draw.uniform(2, 6, 3)
    assert_matches(student(others), reference(others), what=OF_OTHER_TOKENS)


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
