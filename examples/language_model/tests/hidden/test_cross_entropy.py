"""Cross-entropy: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.test_cross_entropy import examples

from grader.testing import (
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_same_answer_twice,
    exercise,
)
from tests.public.tolerances import LARGE_SCORES


@exercise("run_cross_entropy")
@pytest.mark.parametrize(("batch_size", "vocab_size"), [(5, 12), (9, 4), (6, 6)], ids=str)
def test_cross_entropy(student, reference, draw, batch_size, vocab_size):
    """A batch of examples, of more or fewer than there are tokens."""
    inputs = examples(draw, batch_size, vocab_size)
    assert_matches(student(**inputs), reference(**inputs))


@exercise("run_cross_entropy", aspect="generality")
def test_cross_entropy_of_one_token_for_all(student, reference, draw):
    """All examples may have the same target, be it the first token or the last."""
    for token in (0, 4):
        inputs = examples(draw, 4, 5) | {"targets": torch.full((4,), token)}
        assert_matches(student(**inputs), reference(**inputs))


@exercise("run_cross_entropy", aspect="numerics")
@pytest.mark.parametrize("shift", [-10_000.0, 10_000.0])
def test_cross_entropy_of_shifted_scores(student, reference, draw, shift):
    """All scores may be far from 0: what they have in common makes no difference."""
    inputs = examples(draw, 5, 7)
    inputs["inputs"] = shift + draw.integers(-5, 6, 5, 7)
    assert_matches(student(**inputs), reference(**inputs), LARGE_SCORES)


@exercise("run_cross_entropy", aspect="numerics")
def test_cross_entropy_keeps_double_precision(student, reference, draw):
    """The loss of scores in float64 is one in float64."""
    inputs = examples(draw, 4, 6)
    inputs["inputs"] = inputs["inputs"].double()
    actual = student(**inputs)
    assert_keeps_dtype(actual, torch.float64)
    assert_matches(actual, reference(**inputs))


@exercise("run_cross_entropy", aspect="discipline")
@pytest.mark.parametrize("check", [assert_same_answer_twice, assert_runs_on_another_device])
def test_cross_entropy_is_a_good_guest(student, draw, check):
    """A second call returns the same, and everything stays where it is, be it on a GPU."""
    check(student, **examples(draw, 4, 6))
