"""Comparisons of numbers: what is within a tolerance, what is measured, what a result may be."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
import torch

from grader.core.verdict import Measurement
from grader.core.wire.calls import Call
from grader.testing.comparison import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    Tolerance,
    _log_chance,
    all_within,
    assert_distribution,
    checked,
    compare,
    place_of_largest,
    single_number,
    tolerance_for,
)
from grader.testing.contract import Adapter, kind_of
from grader.testing.kinds import Anything
from grader.testing.outcome import Plainly, StudentFault, observing

pytestmark = pytest.mark.unit

TENTH = Tolerance(rtol=0.1, atol=1.0)


def test_a_comparison_measures_errors_against_what_is_allowed():
    """At 10 an error of 2 is allowed, at -20 one of 3."""
    got = torch.tensor([[10.0, -26.0], [0.5, 11.0]])
    want = torch.tensor([[10.0, -20.0], [0.0, 10.0]])
    found = compare(got, want, TENTH)
    assert found.ratio.tolist() == [[0.0, 2.0], [0.5, 0.5]]
    assert found.measurement == Measurement(6.0, math.inf, 0.1, 1.0, 2.0, 1, 4, (0, 1))
    assert (found.ok, found.boolean) == (False, False)
    assert found.got.dtype is found.want.dtype is torch.float64
    near = compare(got[1:, 1:], want[1:, 1:], TENTH)
    assert near.measurement == Measurement(1.0, 0.1, 0.1, 1.0, 0.5, 0, 1, (0, 0))
    assert near.ok


def test_an_error_of_exactly_the_tolerance_is_allowed():
    one = torch.tensor([2.0, 4.0], dtype=torch.float64)
    exact = compare(one + 1.0, one, Tolerance(0.0, 1.0))
    assert (exact.ratio.tolist(), exact.ok) == ([1.0, 1.0], True)
    assert not compare(one + 1.0, one, Tolerance(0.0, 0.999)).ok
    assert compare(one, one, Tolerance(0.0, 0.0)).measurement.error_over_tolerance == 0


def test_what_is_no_number_is_infinitely_far_unless_it_is_expected():
    """Equal infinities and two NaN are equal; opposite infinities are not."""
    nan, inf = math.nan, math.inf
    got = torch.tensor([nan, inf, 1.0, inf, nan, 1.0])
    want = torch.tensor([nan, inf, 1.0, -inf, 1.0, nan])
    found = compare(got, want, FLOAT32)
    assert found.ratio.tolist() == [0.0, 0.0, 0.0, inf, inf, inf]
    assert found.strange.tolist() == [False, False, False, False, True, False]
    measured = found.measurement
    assert (measured.wrong, measured.worst, measured.max_abs_error) == (3, (3,), inf)
    empty = compare(torch.zeros(0), torch.zeros(0), FLOAT32).measurement
    assert (empty.total, empty.worst, empty.max_abs_error, empty.error_over_tolerance) == (
        0, (), 0.0, 0.0,
    )  # fmt: skip


def test_truth_values_are_compared_as_such():
    found = compare(torch.tensor([True, False]), torch.tensor([True, True]), FLOAT32)
    assert (found.boolean, found.measurement.wrong) == (True, 1)
    assert not compare(torch.tensor([1, 0]), torch.tensor([1, 1]), FLOAT32).boolean


def test_whole_numbers_are_equal_or_wrong_however_large_they_are():
    """A sum of a million that is off by one is off."""
    for off, wrong in ((0, 0), (1, 1)):
        found = compare(torch.tensor([10**7 + off]), torch.tensor([10**7]), FLOAT32)
        assert found.measurement.wrong == wrong
        within = all_within(torch.tensor([10**7 + off]), torch.tensor([10**7]), FLOAT32)
        assert within is not bool(wrong)
    assert compare(torch.tensor([1e7 + 1]), torch.tensor([10**7]), FLOAT32).ok


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (torch.tensor([2**53 + 1]), torch.tensor([2**53])),
        (torch.tensor([2**63 - 1]), torch.tensor([2**63 - 2])),
        *(
            (torch.from_numpy(numpy.array([one], numpy.uint64)), other)
            for one in (2**64 - 1, 2**63)
            for other in (torch.tensor([-1]), torch.tensor([2**63 - 1]))
        ),
    ],
)
def test_whole_numbers_that_floats_do_not_tell_apart_are_not_equal(got, want):
    """An author's own tolerance may still allow them to be off by one."""
    assert (compare(got, want, FLOAT32).ok, compare(got, got, FLOAT32).ok) == (False, True)
    assert not all_within(got, want, FLOAT32)
    assert compare(torch.tensor([2**53 + 1]), torch.tensor([2**53]), TENTH).ok


def test_each_dtype_has_the_tolerance_of_an_honest_program():
    dtypes = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64)
    assert [*map(tolerance_for, dtypes)] == [FLOAT32, FLOAT32, FLOAT16, BFLOAT16, FLOAT32]


def test_the_first_of_several_largest_numbers_is_found():
    assert place_of_largest(torch.tensor([[1, 3], [3, 2]])) == (0, 1)
    assert place_of_largest(torch.tensor(5)) == ()


# --- Results ------------------------------------------------------------------------------------


def result_of(annotation: Any, value: Any) -> Any:
    """Returns a result after its check."""
    kind = Anything() if annotation is Any else kind_of(annotation)
    adapter = Adapter("run_it", {}, kind)
    return checked(adapter, value, Call("run_it", {}), Plainly(), lambda _: None)


def test_a_single_number_may_come_in_a_tensor():
    """Only where one number is asked for, or anything."""
    for annotation in (float, Any):
        for value in (torch.tensor(2.5), torch.tensor([[2.5]]), numpy.array([2.5])):
            found = result_of(annotation, value)
            assert (found, type(found)) == (2.5, float)
    assert result_of(Any, torch.ones(2)).tolist() == [1.0, 1.0]
    assert result_of(torch.Tensor, torch.ones(1)).tolist() == [1.0]
    assert result_of(float, 2) == 2.0
    for annotation, value in [(int, torch.tensor(2.5)), (float, torch.ones(2)), (float, "2")]:
        with pytest.raises(StudentFault, match="of another type or shape"):
            result_of(annotation, value)
    assert single_number("ab") == "ab"
    assert single_number(torch.tensor([True])) is True
    assert single_number(numpy.arange(2)).tolist() == [0, 1]


def test_a_result_that_is_declared_none_is_ignored():
    """Many programs return a norm or a loss where only the effect counts."""
    assert result_of(None, 3.5) is None
    with pytest.raises(StudentFault):
        result_of(int | None, 3.5)


# --- Distributions ------------------------------------------------------------------------------


def test_the_bound_on_chance_is_known():
    """It is no bound up to twice the degrees of freedom, and falls from there on."""
    assert [_log_chance(ratio, 3) for ratio in (0.0, 3.9, 4.0)] == [0.0, 0.0, 0.0]
    assert _log_chance(8.0, 3) == pytest.approx(2 * (1 + math.log(2)) - 4)
    assert _log_chance(9.0, 1) == 0.0
    assert _log_chance(6.0, 2) == pytest.approx(1 + math.log(3) - 3)


def test_the_risk_decides_which_outcomes_fail():
    """The same outcomes pass at a smaller risk."""
    outcomes = [0] * 15 + [1] * 5
    ratio = 2 * (15 * math.log(1.5) + 5 * math.log(0.5))
    risk = math.exp(_log_chance(ratio, 2))
    assert_distribution(outcomes, range(2), risk * 0.99)
    with pytest.raises(AssertionError, match="among 20, 0 came 15 times"):
        assert_distribution(outcomes, range(2), risk * 1.01)


def test_the_most_surprising_outcome_is_told_and_expectations_only_if_shown():
    outcomes = [0] * 60 + [1] * 39 + [2]
    expected = {0: 0.34, 1: 0.33, 2: 0.33}
    with observing(shows_expected=False), pytest.raises(AssertionError) as hidden:
        assert_distribution(outcomes, expected, what="the draws")
    assert str(hidden.value) == (
        "the draws do not occur as often as they should: among 100, 2 came once"
    )
    with observing(), pytest.raises(AssertionError, match="came once, where about 33 were exp"):
        assert_distribution(torch.tensor(outcomes), expected)


def test_a_certain_outcome_needs_no_sample_size():
    """With one possible outcome nothing can be unlikely."""
    assert_distribution([7, 7], {7: 1.0, 8: 0.0})
    with pytest.raises(AssertionError, match="8 came 2 times, which can never happen"):
        assert_distribution([7, 8, 8], {7: 1.0, 8: 0.0})


@pytest.mark.parametrize("risk", [0.0, 1.0, -0.5, 2.0])
def test_a_risk_is_a_probability(risk):
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        assert_distribution([0] * 99, range(2), risk)


def test_probabilities_may_miss_one_by_rounding():
    third = 1 / 3
    assert_distribution([0, 1, 2] * 50, {0: third, 1: third, 2: 0.3333333})
    with pytest.raises(ValueError, match="do not add up to 1"):
        assert_distribution([0, 1, 2] * 50, {0: third, 1: third, 2: 0.3333})


class Chosen(int):
    """A number that collides with every other one, and counts how often it is compared."""

    compared = 0

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        Chosen.compared += 1
        return int(self) == other


def test_outcomes_that_were_not_expected_are_not_counted_in_a_table() -> None:
    """A submission can choose numbers that collide: each would be compared with all others."""
    outcomes = [Chosen(number) for number in range(10, 2010)]
    with pytest.raises(AssertionError, match="10 came once, which can never happen"):
        assert_distribution(outcomes, range(2))
    assert Chosen.compared < 2 * len(outcomes)
