"""Faster ways to compare the same answers: they agree with the full comparison."""

import itertools
import math

import pytest
import torch

from grader.explain.layouts import KnownSteps, Likeness
from grader.testing.comparison import FLOAT32, Tolerance, all_within, compare

pytestmark = pytest.mark.unit

NUMBERS = [0.0, -0.0, 1.0, 1.0 + 1e-6, 1.0 + 1e-3, -3e38, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("tolerance", [FLOAT32, Tolerance(0.0, 0.0), Tolerance(1e-2, 1e-2)])
@pytest.mark.parametrize(("one", "other"), [*itertools.product(NUMBERS, repeat=2)])
def test_the_quick_comparison_agrees_with_the_full_one(one, other, tolerance):
    """Diagnosis only needs yes or no; NaN and infinity are where the two ways could differ."""
    actual, expected = torch.tensor([1.0, one]), torch.tensor([1.0, other])
    assert all_within(actual, expected, tolerance) is compare(actual, expected, tolerance).ok


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_both_comparisons_accept_equal_scalars_and_empty_tensors(shape):
    """Two empty answers are equal."""
    assert all_within(torch.zeros(shape), torch.zeros(shape), FLOAT32)
    assert compare(torch.zeros(shape), torch.zeros(shape), FLOAT32).ok


def test_a_step_is_recognised_in_any_layout():
    """Axes may be moved, added or merged."""
    step = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    known = KnownSteps({"scores": [step]})
    for value, likeness in (
        (step, Likeness.SAME),
        (step.unsqueeze(0), Likeness.SAME),
        (step.transpose(0, 2), Likeness.PERMUTED),
        (step.reshape(6, 4), Likeness.MERGED),
        (step.mT.contiguous(), Likeness.PERMUTED),
    ):
        assert known.likeness(value) == {"scores": likeness}


def test_values_in_the_layout_of_a_later_step_match_the_earlier_step():
    """A view as heads moves nothing in memory, so uncut queries must not count as heads."""
    queries = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))
    known = KnownSteps({"queries": [queries], "heads": [queries.view(5, 2, 3).transpose(0, 1)]})
    assert known.most_like(queries.flatten()) == ["queries"]
    assert known.most_like(queries.view(5, 6)) == ["queries"]
    assert known.most_like(queries.view(2, 5, 3)) == []
    assert known.most_like(queries.view(5, 2, 3)) == ["heads"]
