"""Random results, judged by their distribution with a known risk of failing a right program."""

import math

import pytest
import torch

from grader.testing.comparison import _log_chance, assert_distribution
from grader.testing.outcome import observing

pytestmark = pytest.mark.unit


def draws(low, high, number, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, (number,), generator=generator)


def test_right_draws_fail_no_more_often_than_the_stated_risk():
    """A risk of one in twenty holds over 400 seeds, for small samples and large ones."""
    for outcomes, number in [(2, 20), (5, 40), (93, 2000)]:
        failed = 0
        for seed in range(400):
            try:
                assert_distribution(draws(0, outcomes, number, seed), range(outcomes), risk=0.05)
            except AssertionError:
                failed += 1
        assert failed <= 20


def test_an_outcome_that_is_never_drawn_is_reported():
    """This is the usual slip: the last window of a corpus is left out."""
    with observing(shows_expected=True), pytest.raises(AssertionError) as failure:
        assert_distribution(draws(0, 92, 32_000), range(93), what="the starts")
    assert str(failure.value) == (
        "the starts do not occur as often as they should: among 32000, 92 never came, "
        "where about 344 were expected"
    )


@pytest.mark.parametrize("outcomes", [[0] * 400, [0, 1] * 200, draws(0, 3, 4000).tolist()])
def test_outcomes_with_a_wrong_distribution_fail(outcomes):
    """Outcomes fail if they are constant, of one half only, or uniform where they should not be."""
    with pytest.raises(AssertionError, match="do not occur as often"):
        assert_distribution(outcomes, {0: 0.25, 1: 0.25, 2: 0.5})


def test_outcomes_may_have_different_probabilities():
    """Categories may have their own probabilities, even 0."""
    outcomes = ["a" if number < 3 else "b" for number in draws(0, 4, 2000).tolist()]
    assert_distribution(outcomes, {"a": 0.75, "b": 0.25, "c": 0.0})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([0, 1, 1], range(2)), "too few"),
        (([0] * 99, {0: 0.5, 1: 0.4}), "add up to 1"),
        (([0] * 99, []), "add up to 1"),
        (([0] * 99, {0: 1.5, 1: -0.5}), "add up to 1"),
        (([0] * 99, range(2), 0), "between 0 and 1"),
    ],
)
def test_a_distribution_test_that_could_never_fail_is_an_error(arguments, says):
    """A test without statistical power would pass every submission."""
    with pytest.raises(ValueError, match=says):
        assert_distribution(*arguments)


def test_the_bound_is_never_below_the_exact_risk():
    """For two outcomes the exact risk is a sum over all samples at least as unlikely."""
    total, chance = 60, 0.3
    ratios = {
        count: 2
        * sum(
            n * math.log(n / (total * p))
            for n, p in ((count, chance), (total - count, 1 - chance))
            if n
        )
        for count in range(total + 1)
    }
    for ratio in ratios.values():
        exactly = sum(
            math.comb(total, n) * chance**n * (1 - chance) ** (total - n)
            for n, own in ratios.items()
            if own >= ratio
        )
        assert math.log(exactly) <= _log_chance(ratio, 2) + 1e-9
