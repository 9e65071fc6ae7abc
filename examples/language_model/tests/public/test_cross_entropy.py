"""Cross-entropy: the tests that you have at home."""

import math

import pytest
import torch

from grader.testing import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_matches,
    assert_work_does_not_grow,
    exercise,
)
from tests.public.tolerances import ROUNDED


def examples(draw, batch_size, vocab_size):
    """Scores from -3 to 3: no target is so improbable that 1e-9 more would make a difference."""
    targets = draw.integers(0, vocab_size, batch_size)
    return {"inputs": 6 * draw.uniform(batch_size, vocab_size) - 3, "targets": targets}


@exercise("run_cross_entropy")
def test_cross_entropy_of_worked_scores(student, reference, draw):
    """Probabilities of 1 / 4 and 1 / 2: the mean of 1.3863 and 0.6931; and other scores."""
    scores, targets = torch.tensor([[1.0, 1.0 + math.log(3.0)], [2.0, 2.0]]), torch.tensor([0, 1])
    assert_matches(student(scores, targets), torch.tensor(1.0397), ROUNDED)
    inputs = examples(draw, 2, 2)
    assert_matches(student(**inputs), reference(**inputs), what="the loss of other scores")


@exercise("run_cross_entropy")
@pytest.mark.parametrize("batch_size", [4, 7])
def test_cross_entropy_of_a_batch(student, reference, draw, batch_size):
    """A batch of examples, each with scores of a vocabulary."""
    inputs = examples(draw, batch_size, 9)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_cross_entropy", aspect="generality")
@pytest.mark.parametrize("sizes", [(1, 5), (3, 1)], ids=str)
def test_cross_entropy_of_single_things(student, reference, draw, sizes):
    """A single example, a single token in the vocabulary."""
    inputs = examples(draw, *sizes)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_cross_entropy", aspect="numerics")
@pytest.mark.parametrize("scale", [300.0, 1_000.0])
def test_cross_entropy_of_large_scores(student, reference, draw, scale):
    """Scores of thousands give a number: improbable tokens have a large loss, not infinity."""
    inputs = examples(draw, 12, 8) | {"inputs": draw(12, 8, scale=scale)}
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_cross_entropy", aspect="gradients")
def test_cross_entropy_gradients(student, reference, draw):
    """Gradients reach the scores."""
    inputs, cotangent = examples(draw, 4, 6), draw()
    assert_gradients_match(student, reference, cotangent, wrt=("inputs",), **inputs)


@exercise("run_cross_entropy", aspect="discipline")
def test_cross_entropy_leaves_its_inputs_alone(student, draw):
    """The caller's tensors are the same after the call."""
    assert_inputs_unchanged(student, **examples(draw, 4, 6))


@exercise("run_cross_entropy", aspect="efficiency")
def test_cross_entropy_without_a_loop_over_examples(student, reference, draw):
    """More examples need no more operations and no huge tensors."""
    small, large = examples(draw, 3, 6), examples(draw, 48, 6)
    assert_work_does_not_grow(student, reference, small, large)
