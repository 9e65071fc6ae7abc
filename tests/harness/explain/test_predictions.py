"""Predicted answers of known mistakes: whole tensors, dropout patterns, and frozen samples."""

from __future__ import annotations

import math

import pytest
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.explain.mistakes.prediction import (
    Dropped,
    Numbers,
    dropped,
    prediction_of,
    row_of,
)
from grader.testing.outcome import Observation

pytestmark = pytest.mark.unit

NUMBERS = torch.tensor([1.0, 2.0])
OBSERVED = Observation("t", 0, Aspect.VALUES, Call("run", {}), NUMBERS)


def test_a_prediction_in_numbers_allows_for_rounding_and_leniency():
    """float32 allows 1e-5 + 1.3e-6 times the value."""
    near = Numbers(NUMBERS + 4e-5)
    assert [near.agrees(OBSERVED, times) for times in (1, 5)] == [False, True]
    assert Numbers(NUMBERS + 4e-5, rounding=4e-5).agrees(OBSERVED, 1)
    assert not Numbers(NUMBERS[None]).agrees(OBSERVED, 5)
    assert near.is_like(Numbers(NUMBERS, rounding=4e-5), OBSERVED, 1)
    assert Numbers(NUMBERS, rounding=4e-5).is_like(near, OBSERVED, 1)
    assert not near.is_like(Numbers(NUMBERS), OBSERVED, 1)
    assert not near.is_like(Dropped("x", 1, 0, False, 4), OBSERVED, 1)


@pytest.mark.parametrize(
    ("value", "rounding", "tells"),
    [
        (torch.tensor([2.0, -4.0]), 0.0, True),
        (torch.tensor([2.0, -4.0]), 0.19, True),
        (torch.tensor([2.0, -4.0]), 0.21, False),
        (torch.tensor([2.0, -4.0, math.inf]), 0.21, False),
        (torch.tensor([math.nan]), 0.1, False),
        (torch.tensor([math.nan]), 0.0, True),
    ],
)
def test_a_blurred_prediction_tells_nothing(value, rounding, tells):
    """Rounding may move a value by five hundredths of the largest."""
    assert Numbers(value, rounding).tells is tells
    row = prediction_of(row_of(Numbers(value, rounding)), None)
    assert row.tells is tells


ONES = torch.ones(4, 4)
CHECKED = 2.0 * (torch.arange(16).reshape(4, 4) % 2)
ROWS = torch.tensor([0.0, 2.0, 0.0, 2.0])[:, None].expand(4, 4)


@pytest.mark.parametrize(
    ("answer", "whole", "drop"),
    [
        (CHECKED, ONES, Dropped("x", 2.0, 0.5, False, 16)),
        (ROWS, ONES, Dropped("x", 2.0, 0.5, True, 4)),
        (2 * ONES, ONES, Dropped("x", 2.0, 0.0, False, 16)),
        (0 * ONES, ONES, Dropped("x", 1.0, 1.0, False, 16)),
        (2 * ONES[:1], ONES[:1], Dropped("x", 2.0, 0.0, False, 1)),
        (CHECKED[:1], ONES[:1], Dropped("x", 2.0, 0.5, False, 4)),
        (torch.tensor(3.0), torch.tensor(1.0), Dropped("x", 3.0, 0.0, False, 1)),
        # A zero of the input says nothing of the factor.
        (2 * CHECKED, CHECKED, Dropped("x", 2.0, 0.5, False, 16)),
        (ONES[0], ONES, None),
        (ONES[:0], ONES[:0], None),
        (ONES, 3, None),
    ],
)
def test_a_dropout_is_described_by_factor_share_and_pattern(answer, whole, drop):
    """Whole rows of zeros are draws of their own."""
    assert dropped(answer, Call("run", {"x": whole}), "x") == drop


def test_a_dropout_without_a_common_factor_has_none():
    """Its factor is NaN, so that it is like no other."""
    found = dropped(torch.tensor([1.0, 3.0, 0.0]), Call("run", {"x": torch.ones(3)}), "x")
    assert math.isnan(found.factor)
    assert not found.is_like(Dropped("x", 1.0, found.share, False, 3), OBSERVED, 1)


ALIKE = [
    (Dropped("x", 2.0, 0.5, False, 16), Dropped("x", 2.0, 0.5, False, 16), True),
    (Dropped("x", 2.0, 0.5, True, 16), Dropped("x", 2.0, 0.5, False, 16), False),
    # Without zeros, or with zeros only, there is no pattern.
    (Dropped("x", 2.0, 0.0, True, 16), Dropped("x", 2.0, 0.5, False, 16), True),
    (Dropped("x", 2.0, 0.5, True, 4), Dropped("x", 9.0, 1.0, False, 4), True),
    # Of 100 draws with a share of a half, none would be zero once in 10**12.
    (Dropped("x", 2.0, 0.0, False, 100), Dropped("x", 2.0, 0.5, False, 100), False),
    (Dropped("x", 2.0, 0.2, False, 100), Dropped("x", 2.0, 0.5, False, 100), True),
    (Dropped("x", 2.0, 0.2, False, 1000), Dropped("x", 2.0, 0.5, False, 10), False),
    (Dropped("x", 2.0, 0.5, False, 16), Dropped("x", 2.001, 0.5, False, 16), True),
    (Dropped("x", 2.0, 0.5, False, 16), Dropped("x", 2.01, 0.5, False, 16), False),
    (Dropped("x", 2.0, 0.5, False, 16), Numbers(NUMBERS), False),
]


@pytest.mark.parametrize(("one", "other", "are_alike"), ALIKE)
def test_two_draws_of_one_dropout_are_alike(one, other, are_alike):
    """Their factor is equal, and their shares are as near as chance brings them."""
    assert one.is_like(other, OBSERVED, 1) is are_alike
    assert one.tells
    if isinstance(other, Dropped):
        assert other.is_like(one, OBSERVED, 1) is are_alike


@pytest.mark.parametrize(
    "answer", [torch.arange(3.0), torch.ones(2, 3), torch.tensor(2.0), torch.zeros(0)]
)
def test_a_frozen_prediction_tells_what_the_whole_one_tells(answer):
    """A handout holds a few values and the shape, not the answers."""
    frozen = prediction_of(row_of(Numbers(answer, 0.25)), None)
    assert frozen.shape == answer.shape
    assert frozen.rounding == 0.25
    seen_here = Observation("t", 0, Aspect.VALUES, Call("run", {}), answer)
    exact = prediction_of(row_of(Numbers(answer)), None)
    assert exact.agrees(seen_here, 1)
    for other in (answer[None], answer + 1):
        unlike = Observation("t", 0, Aspect.VALUES, Call("run", {}), other)
        assert exact.agrees(unlike, 1) is (other.numel() == 0 and other.shape == answer.shape)
        assert not exact.is_like(Numbers(other), seen_here, 1)
    assert exact.is_like(prediction_of(row_of(Numbers(answer + 0.2, 0.2)), None), seen_here, 1)
    assert exact.is_like(exact, seen_here, 1)


def test_a_frozen_dropout_is_the_same_dropout():
    """Its four properties take the place of values; without an answer there is none."""
    drop = Dropped("x", 2.0, 0.5, True, 4)
    assert prediction_of(row_of(drop), "x") == drop
    assert prediction_of(row_of(None), None) is None
