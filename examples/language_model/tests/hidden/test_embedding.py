"""The embedding: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.inputs import embedding

from grader.testing import assert_inputs_unchanged, assert_matches, exercise


@exercise("run_embedding")
@pytest.mark.parametrize(("vocab_size", "d_model"), [(9, 9), (30, 5)], ids=str)
def test_embedding(student, reference, draw, vocab_size, d_model):
    """A batch of sequences of token ids."""
    inputs = embedding(draw, vocab_size, d_model, 2, 6)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_embedding", aspect="generality")
def test_embedding_of_every_token(student, reference, draw):
    """The first token and the last have vectors as the others do, and may come twice."""
    inputs = embedding(draw, 6, 4, 1)
    inputs["token_ids"] = torch.cat((torch.arange(6), torch.tensor([5, 0, 0])))
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_embedding", aspect="generality")
def test_embedding_of_narrow_integers(student, reference, draw):
    """Token ids may be 32-bit integers."""
    inputs = embedding(draw, 10, 4, 2, 5)
    inputs["token_ids"] = inputs["token_ids"].to(torch.int32)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_embedding", aspect="discipline")
def test_embedding_leaves_its_inputs_alone(student, draw):
    """Inputs stay as they are."""
    assert_inputs_unchanged(student, **embedding(draw, 6, 4, 2, 3))
