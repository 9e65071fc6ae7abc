"""Sentences on wrong numbers: headlines, amounts, places, tables, and hints."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from grader.testing.comparison import FLOAT32, compare
from grader.testing.differences import (
    difference_in_words,
    headline,
    is_near,
    precision_in_words,
    worst_in_a_table,
    wrong_places,
)

pytestmark = pytest.mark.unit


def first(sentences: Any) -> str:
    return next(iter(sentences))


# --- Headlines ----------------------------------------------------------------------------------

A = torch.arange(1.0, 13.0).view(3, 4)
AXES = ("seq", "d")


def changed(*index: Any, by: float = 1.0) -> torch.Tensor:
    """Returns `A` with other values at these places."""
    own = A.clone()
    own[index] += by
    return own


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (A * 0, "every value is wrong"),
        (-A, "every value is wrong"),
        (A * 3, "every value is too large by the same factor"),
        (A / 3, "every value is too small by the same factor"),
        (A + 7, "every value is wrong"),
        (changed(slice(1, None)), "wrong from index 1 of seq on"),
        (changed(slice(2, None)), "some values are wrong"),
        (changed(0), "some values are wrong"),
        (changed(1), "some values are wrong"),
        (changed(1, 1), "one value is wrong"),
        (changed(1, 1, by=math.nan), "one value is NaN"),
        (changed(1, by=math.inf), "some values are infinite"),
        (A * math.nan, "every value is NaN"),
        (torch.stack([A[0], A[1] * math.nan, A[2] * math.inf]), "some values are NaN or infinite"),
        (A**2 + 1, "every value is wrong"),
    ],
    ids=range(15),
)
def test_a_headline_names_the_fault_without_numbers(got, said):
    assert headline("the result", compare(got, A, FLOAT32), AXES) == said
    named = headline("encode", compare(got, A, FLOAT32), AXES)
    assert named.split() != said.split()
    assert "of encode" in named


def test_patterns_need_values_that_lie_apart():
    """Three values, or equal ones, fit a pattern by chance."""
    for want in (A.flatten()[:3], torch.ones(4), torch.tensor([1.0, 2.0, math.inf, 3.0])):
        said = headline("the result", compare(want * 3, want, FLOAT32), ("n",))
        assert "factor" not in said
    four = A.flatten()[:4]
    assert "by the same factor" in headline("it", compare(four * 3, four, FLOAT32), ("n",))


def test_the_wrong_places_of_an_axis_are_those_with_any_wrong_number():
    """An axis without a right place is left out."""
    mask = torch.tensor([[False, True, True], [False, False, True]])
    assert [*wrong_places(mask, ("a", "b"))] == [("b", [1, 2], 3)]
    assert [*wrong_places(torch.tensor([True, False]), ("a",))] == [("a", [0], 2)]


# --- Hints --------------------------------------------------------------------------------------


def test_an_answer_is_near_if_each_error_is_small_beside_the_largest_value():
    assert is_near(A + 0.0599, A)
    assert not is_near(A + 0.0601, A)
    assert not is_near(A[0], A)
    assert not is_near(torch.zeros(0), torch.zeros(0))


def test_half_precision_is_told_of_small_errors():
    off = compare(A + 1, A, FLOAT32)
    digits = "float16 holds 3 digits: if the same is right in float32"
    assert first(precision_in_words(off, torch.float16)).startswith(digits)
    assert first(precision_in_words(off, torch.bfloat16)).startswith("bfloat16 holds 2")
    assert [*precision_in_words(off, torch.float32)] == []
    assert [*precision_in_words(compare(-A, A, FLOAT32), torch.bfloat16)] == []


@pytest.mark.parametrize(
    ("what", "is_told"),
    [("the gradient of Q", True), ("the gradient of parameter 1", False), ("the result", False)],
)
def test_nan_in_an_arguments_gradient_may_come_of_what_the_result_does_not_show(what, is_told):
    """A gradient that a parameter holds is an argument of the call, not its derivative."""
    for got in (A * math.nan, changed(1, by=math.nan)):
        told = difference_in_words(what, compare(got, A, FLOAT32), ("seq", "d"))
        assert any(line.startswith("A gradient can be NaN") for line in told) is is_told


# --- Amounts and places -------------------------------------------------------------------------

NAN_FROM = (
    "NaN can come from 0/0, inf/inf, inf-inf, 0*inf, the root or logarithm of negative "
    "numbers, or softmax over only -inf. A tensor of torch.empty also holds such values until you "
    "fill it."
)
B = torch.zeros(3, 4)
BOTH_KINDS = torch.stack([A[0], A[1] * math.inf, A[2] * math.nan])


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (torch.tensor(1.5), torch.tensor(2.0),
         ["the result is 1.5; it is off by 0.5, 39,683 times the tolerance"]),
        (torch.tensor(-0.0), torch.tensor(math.inf), ["the result is 0"]),
        (changed(2, by=0.5), A,
         ["4 of 12 values in the result are wrong; "
          "the worst by tolerance is at index [2, 0]: off by 0.5, "
          "23,041 times the tolerance",
          "All of them are at seq = 2 (of 3); the rest is as expected."]),
        (changed(0, 1, by=2.8e-5), A,
         ["1 of 12 values in the result are wrong; "
          "the worst by tolerance is at index [0, 1]: off by 2.79e-05, "
          "2.2 times the tolerance",
          "All of them are at seq = 0 (of 3), d = 1 (of 4); the rest is as expected."]),
        (changed(slice(0, 2), slice(1, 3)), A,
         ["4 of 12 values in the result are wrong; "
          "the worst by tolerance is at index [0, 1]: off by 1, "
          "79,365 times the tolerance",
          "All of them are at seq = 0 to 1 (of 3), d = 1 to 2 (of 4); the rest is as expected."]),
        (changed(slice(None), slice(1, None, 2)), A,
         ["6 of 12 values in the result are wrong; "
          "the worst by tolerance is at index [0, 1]: off by 1, "
          "79,365 times the tolerance",
          "All of them are at d = 1, 3 (of 4); the rest is as expected."]),
        (A * math.nan, A, [NAN_FROM]),
        (changed(1, by=math.nan), A,
         ["4 of 12 values in the result are wrong: 4 are NaN, the first at index [1, 0]",
          "1 whole row is NaN, all along d, at index [1].", NAN_FROM,
          "All of them are at seq = 1 (of 3); the rest is as expected."]),
        (changed(slice(1, None), by=math.nan), A,
         ["8 of 12 values in the result are wrong: 8 are NaN, the first at index [1, 0]",
          "2 whole rows are NaN, all along d, the first at index [1].", NAN_FROM,
          "All of them are at seq = 1 to 2 (of 3); the rest is as expected."]),
        (changed(1, 2, by=math.nan), A,
         ["1 of 12 values in the result are wrong: 1 is NaN, at index [1, 2]", NAN_FROM,
          "All of them are at seq = 1 (of 3), d = 2 (of 4); the rest is as expected."]),
        (changed(1, 2, by=math.inf), A,
         ["1 of 12 values in the result are wrong: 1 is infinite, at index [1, 2]",
          "All of them are at seq = 1 (of 3), d = 2 (of 4); the rest is as expected."]),
        (BOTH_KINDS, A,
         ["8 of 12 values in the result are wrong: 4 are NaN and 4 are infinite, the first at "
          "index [1, 0]",
          "1 whole row is NaN, all along d, at index [2].", NAN_FROM,
          "All of them are at seq = 1 to 2 (of 3); the rest is as expected."]),
        (A, changed(1, 2, by=math.inf),
         ["1 of 12 values in the result are wrong",
          "All of them are at seq = 1 (of 3), d = 2 (of 4); the rest is as expected."]),
        (-changed(1, 2, by=math.inf), changed(1, 2, by=math.inf),
         ["12 of 12 values in the result are wrong: 1 is infinite, at index [1, 2]"]),
        (B > 0, B == 0,
         ["12 of 12 values in the result are wrong"]),
        (torch.tensor([True, False, False, True]), torch.tensor([False, True, True, True]),
         ["3 of 4 values in the result are wrong"]),
        (torch.tensor([7, 5, 3]), torch.tensor([7, 7, 3]),
         ["1 of 3 values in the result are wrong; the worst is at index [1]: off by 2"]),
    ],
    ids=range(17),
)  # fmt: skip
def test_wrong_values_are_counted_and_placed(got, want, said):
    """How far they are off is told only where that is a number."""
    axes = AXES[: got.ndim]
    assert difference_in_words("the result", compare(got, want, FLOAT32), axes)[1:] == said


def test_the_five_worst_numbers_stand_in_a_table():
    """A column is as wide as its longest number; truth values and NaN have no table."""
    got = torch.arange(6.0) * 10
    comparison = compare(got, torch.zeros(6), FLOAT32)
    assert [*worst_in_a_table(comparison, True)] == [
        "    index  expected  got  off by",
        "    [5]           0   50      50",
        "    [4]           0   40      40",
        "    [3]           0   30      30",
        "    [2]           0   20      20",
        "    [1]           0   10      10",
    ]
    two = compare(torch.tensor([1.0, -0.0, 1234567.0]), torch.tensor([1.0, 1.0, 0.5]), FLOAT32)
    assert [*worst_in_a_table(two, False)] == [
        "    index          got    off by",
        "    [2]    1.23457e+06  1.23e+06",
        "    [1]              0         1",
    ]
    unmeasured = compare(torch.ones(2), torch.tensor([1.0, math.inf]), FLOAT32)
    assert [*worst_in_a_table(unmeasured, True)] == [
        "    index  expected  got",
        "    [1]         inf    1",
    ]
    for got, want in [(B > 0, B == 0), (A * math.nan, A)]:
        assert [*worst_in_a_table(compare(got, want, FLOAT32), True)] == []
