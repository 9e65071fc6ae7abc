"""Dropout of attention weights: what the grade looks at beyond the public tests."""

import pytest
import torch

from grader.testing import (
    assert_inputs_unchanged,
    assert_keeps_dtype,
    assert_matches,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
    exercise,
)
from tests.hidden.precision import DTYPES
from tests.public.dropping import dropped_anew


@exercise("run_attention_dropout")
def test_dropout_in_evaluation(student, draw):
    """Without training the weights come back as they are, with it some are dropped."""
    weights = 0.1 + draw.uniform(3, 25, 7)
    assert_matches(student(weights, p=0.3, training=False), weights)
    dropped = student(weights, p=0.3, training=True)
    assert (dropped == 0).any(), "in training no weight is dropped"
    assert (dropped != 0).any(), "in training every weight is dropped"


@exercise("run_attention_dropout")
@pytest.mark.parametrize("p", [0.1, 0.8])
def test_dropout_in_training(student, draw, p):
    """As many weights are dropped as p says, and the average stays what it was."""
    weights = 0.1 + draw.uniform(16, 64, 8)
    dropped = dropped_anew(student, weights, p)
    share = (dropped == 0).float().mean().item()
    # Also where the 1024 rows are dropped as a whole, that is eight standard deviations.
    limit = 8 * (p * (1 - p) / 1024) ** 0.5
    assert abs(share - p) < limit, f"with p={p}, {share:.1%} of the weights were dropped"
    assert_matches(dropped, torch.where(dropped == 0, 0.0, weights / (1 - p)))


@exercise("run_attention_dropout", aspect="generality")
def test_dropout_drops_each_weight_on_its_own(student):
    """Neither rows nor columns nor whole sequences share their fate, nor is their number fixed."""
    kept = student(torch.ones(8, 32, 32), p=0.5, training=True) != 0
    for axis, name in enumerate(("sequences", "rows", "columns")):
        mixed = kept.any(dim=axis) & ~kept.all(dim=axis)
        assert mixed.any(), f"all {name} lose the same weights"
    drawn = (student.seeded(n)(torch.ones(8, 32, 32), p=0.5, training=True) for n in range(5))
    # By chance, five calls drop equally many once in 10 ** 8 times.
    assert len({int((one == 0).sum()) for one in drawn}) > 1, "each call drops equally many weights"


@exercise("run_attention_dropout", aspect="generality")
@pytest.mark.parametrize("shape", [(1024,), (1, 4, 16, 16)], ids=str)
def test_dropout_of_any_shape(student, draw, shape):
    """A single axis, or several."""
    weights = 0.1 + draw.uniform(*shape)
    dropped = student(weights, p=0.5, training=True)
    assert (dropped == 0).any(), "nothing was dropped"
    assert (dropped != 0).any(), "everything was dropped"
    assert_matches(dropped, torch.where(dropped == 0, 0.0, 2.0 * weights))


@exercise("run_attention_dropout", aspect="numerics")
def test_dropout_keeps_the_dtype(student, draw):
    """The result has the dtype of the weights, in training as well."""
    for dtype in DTYPES:
        weights = (0.1 + draw.uniform(2, 16, 16)).to(dtype)
        dropped = student(weights, p=0.5, training=True)
        assert_keeps_dtype(dropped, dtype)
        assert_matches(dropped, torch.where(dropped == 0, 0.0, 2.0 * weights.double()))


@exercise("run_attention_dropout", aspect="gradients")
def test_dropout_gradients(student, draw):
    """A weight that was kept passes its gradient on by the same factor; the others pass none."""
    weights, cotangent = draw.uniform(4, 16, 16), torch.ones(4, 16, 16)
    passed = student.gradients(cotangent, wrt=("weights",), weights=weights, p=0.75, training=True)
    gradient = passed["weights"]
    assert (gradient != 0).any(), "no gradient passes"
    assert_matches(gradient, torch.where(gradient == 0, 0.0, 4.0), what="the gradient of weights")


@exercise("run_attention_dropout", aspect="discipline")
def test_dropout_leaves_its_input_alone(student, draw):
    """The caller's tensor is the same after the call."""
    assert_inputs_unchanged(student, draw.uniform(2, 8, 8), p=0.5, training=True)


@exercise("run_attention_dropout", aspect="discipline")
def test_dropout_on_another_device(student, draw):
    """The weights may lie on a GPU."""
    assert_runs_on_another_device(student, draw.uniform(2, 13, 13), p=0.5, training=True)


@exercise("run_attention_dropout", aspect="efficiency")
def test_dropout_without_a_loop(student, reference, draw):
    """More weights need no more operations and no huge tensors."""
    small, large = ({"weights": draw.uniform(n, n), "p": 0.5, "training": True} for n in (4, 16))
    assert_work_does_not_grow(student, reference, small, large)
