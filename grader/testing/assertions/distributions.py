"""Judges random results by how often each outcome comes, with a stated risk of error."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import torch

from grader.testing.outcome import shows_expected

# A right answer fails once in a billion.
RISK = 1e-9
_SUM = 1e-6


def assert_distribution(
    outcomes: Iterable[Hashable] | torch.Tensor,
    expected: Mapping[Any, float] | Collection[Any],
    risk: float = RISK,
    what: str = "the outcomes",
) -> None:
    """Asserts that independent outcomes come as often as expected: a test by likelihood ratio.

    `expected` tells each outcome's probability, or lists outcomes that are equally likely. A right
    answer fails with a probability of at most `risk`, however few the outcomes are: what the ratio
    is measured against is a bound, not the usual limit for many of them (R. Agrawal,
    "Finite-sample concentration of the multinomial in relative entropy", 2020).

    Raises:
        ValueError: if the probabilities are none, or so few outcomes could never fail.
    """
    __tracebackhide__ = True
    chances = _chances(expected)
    counts = Counter(outcomes.flatten().tolist() if torch.is_tensor(outcomes) else outcomes)
    total = sum(counts.values())
    _check(chances, total, risk)
    for outcome, count in counts.items():
        if chances.get(outcome, 0.0) == 0.0:
            raise AssertionError(
                f"among {what}, {_shown(outcome)} {_came(count)}, which can never be"
            )
    ratio = 2 * sum(n * math.log(n / (total * chances[one])) for one, n in counts.items())
    possible = sum(chance > 0 for chance in chances.values())
    if _log_chance(ratio, possible) < math.log(risk):
        worst = max(chances, key=lambda one: _surprise(counts[one], total * chances[one]))
        wanted = f", where about {total * chances[worst]:.0f} were expected"
        raise AssertionError(
            f"{what} do not come as often as they should: among {total}, {_shown(worst)} "
            f"{_came(counts[worst])}{wanted if shows_expected() else ''}"
        )


def _chances(expected: Mapping[Any, float] | Collection[Any]) -> dict[Any, float]:
    if isinstance(expected, Mapping):
        return dict(expected)
    return dict.fromkeys(expected, 1 / max(len(expected), 1))


def _check(chances: Mapping[Any, float], total: int, risk: float) -> None:
    if not 0 < risk < 1:
        raise ValueError(f"a risk lies between 0 and 1, and {risk} does not")
    if min(chances.values(), default=-1) < 0 or abs(sum(chances.values()) - 1) > _SUM:
        raise ValueError("the probabilities of the outcomes do not add up to 1")
    possible = [chance for chance in chances.values() if chance > 0]
    most = -2 * total * math.log(min(possible))
    if len(possible) > 1 and _log_chance(most, len(possible)) >= math.log(risk):
        raise ValueError(
            f"{total} outcomes are too few: with a risk of {risk:g} none of them could ever fail"
        )


def _log_chance(ratio: float, possible: int) -> float:
    """The logarithm of a bound of the probability that the ratio is as large by chance."""
    free = possible - 1
    if ratio <= 2 * free or free == 0:
        return 0.0
    return free * (1 + math.log(ratio / (2 * free))) - ratio / 2


def _surprise(count: int, wanted: float) -> float:
    return abs(count - wanted) / math.sqrt(wanted) if wanted else 0.0


def _shown(outcome: object) -> str:
    return repr(outcome)[:60]


def _came(count: int) -> str:
    return {0: "never came", 1: "came once"}.get(count, f"came {count} times")
