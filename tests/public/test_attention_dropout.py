"""Dropout of attention weights: the tests that you have at home."""

import pytest
import torch

from grader.testing import assert_matches, exercise
from tests.public.dropping import dropped_anew


@exercise("run_attention_dropout")
@pytest.mark.parametrize("p", [0.5, 0.3])
def test_dropout_does_nothing_in_evaluation(student, draw, p):
    """Without training the weights come back as they are, with it some are dropped."""
    weights = 0.1 + draw.uniform(4, 16, 16)
    assert_matches(student(weights, p=p, training=False), weights)
    dropped = student(weights, p=p, training=True)
    assert (dropped == 0).any(), "in training no weight is dropped"
    assert (dropped != 0).any(), "in training every weight is dropped"


@exercise("run_attention_dropout")
@pytest.mark.parametrize("p", [0.5, 0.25])
def test_dropout_scales_what_it_keeps(student, draw, p):
    """In training a weight is either 0 or scaled by one factor."""
    weights = 0.1 + draw.uniform(4, 32, 32)
    dropped = dropped_anew(student, weights, p)
    assert_matches(dropped, torch.where(dropped == 0, 0.0, weights / (1 - p)))


@exercise("run_attention_dropout")
def test_dropout_drops_half_when_p_is_a_half(student, draw):
    """About as many weights are dropped as p says, and the others are doubled."""
    weights = 0.1 + draw.uniform(4, 32, 32)
    dropped = dropped_anew(student, weights, 0.5)
    share = (dropped == 0).float().mean().item()
    # Also where the 128 rows are dropped as a whole, the limits are four standard deviations away.
    assert abs(share - 0.5) < 0.2, f"with p=0.5, {share:.1%} of the weights were dropped"
    assert_matches(dropped, torch.where(dropped == 0, 0.0, 2.0 * weights))


@exercise("run_attention_dropout")
def test_dropout_drops_other_weights_in_each_call(student, draw):
    """Each call draws anew which weights it drops."""
    weights = 0.1 + draw.uniform(4, 16, 16)
    calls = [student.seeded(number)(weights, p=0.5, training=True) for number in range(3)]
    first, *others = (dropped == 0 for dropped in calls)
    assert first.any(), "in training no weight is dropped"
    assert not all(first.equal(other) for other in others), "each call drops the same weights"
    assert_matches(calls[0], torch.where(first, 0.0, 2.0 * weights))


@exercise("run_attention_dropout", aspect="generality")
def test_dropout_with_p_of_zero(student, draw):
    """With p = 0 nothing is dropped in training either."""
    weights = draw.uniform(2, 6, 6)
    assert_matches(student(weights, p=0.0, training=True), weights)


@exercise("run_attention_dropout", aspect="discipline")
def test_dropout_is_repeatable_in_evaluation(student, draw):
    """In evaluation there is no chance at work: other random numbers change nothing."""
    inputs = {"weights": draw.uniform(2, 6, 6), "p": 0.5, "training": False}
    first, second = student(**inputs), student.seeded(1)(**inputs)
    assert_matches(second, first, what="the result of a second call")
