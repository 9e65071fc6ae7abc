"""Comparisons of answers: type and shape, numbers within a tolerance, random outcomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.core.verdict import Measurement
from grader.core.wire.calls import Call
from grader.core.wire.values import Value
from grader.testing.contract import Adapter
from grader.testing.kinds import Anything, PlainType
from grader.testing.outcome import Trace, Wording, shows_expected


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An answer may be off by `atol + rtol * |expected|`, element by element."""

    rtol: float
    atol: float


FLOAT32 = Tolerance(rtol=1.3e-6, atol=1e-5)
FLOAT16 = Tolerance(rtol=1e-3, atol=4e-3)
BFLOAT16 = Tolerance(rtol=1.6e-2, atol=4e-2)


def tolerance_for(dtype: torch.dtype) -> Tolerance:
    """Returns the tolerance of an honest implementation in this dtype; float64 gets float32's."""
    return {torch.bfloat16: BFLOAT16, torch.float16: FLOAT16}.get(dtype, FLOAT32)


@dataclass(frozen=True, slots=True)
class Comparison:
    """An answer beside the expected values, element by element, in float64.

    `ratio` is each error as a multiple of the allowed error: 0 for equal elements, infinite where
    the error is not a number. `boolean` marks truth values, which are stored as 0 and 1. `whole`
    marks whole numbers, which must be equal.
    """

    got: torch.Tensor
    want: torch.Tensor
    ratio: torch.Tensor
    measurement: Measurement
    boolean: bool = False
    whole: bool = False

    @property
    def ok(self) -> bool:
        """Returns whether every element is within the tolerance."""
        return self.measurement.wrong == 0

    @property
    def strange(self) -> torch.Tensor:
        """Returns where the answer is NaN or infinite, and the expected value is not."""
        return ~self.got.isfinite() & self.want.isfinite()


def compare(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> Comparison:
    """Compares two tensors of one shape, in float64."""
    got, want = actual.detach().to(torch.float64), expected.detach().to(torch.float64)
    equal = (got == want) | (got.isnan() & want.isnan())
    distance, whole = (got - want).abs(), _are_whole(actual, expected)
    if whole:  # float64 holds only those below 2 ** 53 exactly
        equal &= actual.to(torch.int64) == expected.to(torch.int64)
        distance = distance.clamp(min=1)
    error = torch.where(equal, 0.0, distance)
    relative = torch.where(equal, 0.0, error / want.abs())
    allowed = _allowed(want, tolerance, whole)
    ratio = torch.where(equal, 0.0, error / allowed).nan_to_num(nan=math.inf, posinf=math.inf)
    measurement = Measurement(
        max_abs_error=_largest(error),
        max_rel_error=_largest(relative),
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        error_over_tolerance=_largest(ratio),
        wrong=int((ratio > 1).sum()),
        total=ratio.numel(),
        worst=place_of_largest(ratio) if ratio.numel() else (),
    )
    return Comparison(got, want, ratio, measurement, actual.dtype is torch.bool, whole)


def all_within(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
    """Returns whether `compare` would find nothing wrong, at a fraction of its cost."""
    if _are_whole(actual, expected):
        return compare(actual, expected, tolerance).ok
    got, want = actual.detach().to(torch.float64), expected.detach().to(torch.float64)
    if torch.equal(got, want):
        return True
    allowed = _allowed(want, tolerance, whole=False)
    within = (got - want).abs() / allowed <= 1
    if bool(within.all()):
        return True
    return bool((within | (got == want) | (got.isnan() & want.isnan())).all())


def _allowed(want: torch.Tensor, tolerance: Tolerance, whole: bool) -> torch.Tensor | float:
    """Returns how far off each value may be; whole numbers may not, however large they are."""
    return tolerance.atol if whole else tolerance.atol + tolerance.rtol * want.abs()


def _are_whole(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    return not (actual.is_floating_point() or expected.is_floating_point())


def place_of_largest(numbers: torch.Tensor) -> tuple[int, ...]:
    """Returns the index of the largest number, or of the first of several."""
    return place_of(numbers.argmax(), numbers.shape)


def place_of(number: torch.Tensor | int, shape: torch.Size) -> tuple[int, ...]:
    """Returns the index of the element that is the `number`-th in row-major order."""
    # `torch.unravel_index` would first load the packages for symbolic sizes.
    return tuple(int(i) for i in numpy.unravel_index(int(number), shape))


def _largest(errors: torch.Tensor) -> float:
    return float(errors.nan_to_num(nan=math.inf, posinf=math.inf).max()) if errors.numel() else 0.0


def checked(
    adapter: Adapter,
    value: Value,
    call: Call,
    wording: Wording,
    trace: Trace,
) -> Any:
    """Returns the value in an answer after checking its type and shape against the contract.

    If the contract says None, only the call's effects count: a returned norm or loss is ignored.
    `trace` finds the line behind the value, for a wording that names lines.

    Raises:
        StudentFault: if the value has another type or shape.
    """
    if adapter.result == PlainType(type(None)):
        return None
    if isinstance(adapter.result, PlainType | Anything):
        value = single_number(value)
    if any(adapter.result.misfits(value, adapter.sizes(call.arguments))):
        raise wording.refused(adapter, value, call, trace)
    return adapter.result.converted(value)


def single_number(value: Value) -> Value:
    """Returns the number in a tensor or array of a single element; other values as they are."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, numpy.ndarray) and value.size == 1:
        number: bool | int | float = value.item()
        return number
    return value


# A right answer fails once in a billion.
RISK = 1e-9
_SUM = 1e-6


def assert_distribution(
    outcomes: Iterable[Hashable] | torch.Tensor,
    expected: Mapping[Any, float] | Collection[Any],
    risk: float = RISK,
    what: str = "the outcomes",
) -> None:
    """Asserts by a likelihood ratio test that independent outcomes come as often as expected.

    `expected` gives each outcome's probability, or lists equally likely outcomes. A right answer
    fails with a probability of at most `risk`, even for few outcomes. The threshold is a bound for
    finite samples, not the usual limit for many outcomes. Source: R. Agrawal, "Finite-sample
    concentration of the multinomial in relative entropy", 2020.

    Raises:
        ValueError: if `risk` or a probability is invalid, or too few outcomes could never fail.
    """
    __tracebackhide__ = True
    chances = _chances(expected)
    drawn = outcomes.flatten().tolist() if torch.is_tensor(outcomes) else [*outcomes]
    total = len(drawn)
    _check(chances, total, risk)
    # Only expected outcomes are counted: others can be numbers that collide in a table of counts.
    for outcome in drawn:
        if chances.get(outcome, 0.0) == 0.0:
            came = _came(drawn.count(outcome))
            raise AssertionError(f"among {what}, {_shown(outcome)} {came}, which can never happen")
    counts = Counter(drawn)
    ratio = 2 * sum(n * math.log(n / (total * chances[one])) for one, n in counts.items())
    possible = sum(chance > 0 for chance in chances.values())
    if _log_chance(ratio, possible) < math.log(risk):
        worst = max(chances, key=lambda one: _surprise(counts[one], total * chances[one]))
        wanted = f", where about {total * chances[worst]:.0f} were expected"
        raise AssertionError(
            f"{what} do not occur as often as they should: among {total}, {_shown(worst)} "
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
    """Returns the logarithm of a bound on the probability of so large a ratio by chance."""
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
