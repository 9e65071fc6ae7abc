"""Sentences on how an answer differs from the expected values: how much, where, the worst.

The headline of a failure names the fault without numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from grader.testing.comparison import Comparison, place_of, place_of_largest

# The name of an answer that has no other name.
RESULT = "the result"
# Fewer values fit a pattern by chance.
_PATTERN = 4
# Patterns need expected values that span at least this many tolerances.
_SPREAD = 100.0
# Right values beside wrong ones have errors this many times smaller than the worst.
_APART = 100.0


def headline(what: str, comparison: Comparison, axes: Sequence[str]) -> str:
    """Returns the headline of a wrong answer: "wrong from index 1 of seq on"."""
    of = "" if what == RESULT else f" of {what}"
    if bool(comparison.strange.any()):
        kinds = _kinds(comparison.got, comparison.strange)
        return f"{_some(comparison.strange, of)} {' or '.join(kinds)}"
    wrong = comparison.ratio > 1
    if not comparison.got.ndim:
        return f"{what} is wrong"
    factor = _factor(comparison) if bool(wrong.all()) else None
    if factor is not None:
        return f"every value{of} is too {'large' if factor > 1 else 'small'} by the same factor"
    after = _all_but_the_first(wrong, axes) if _is_apart(comparison) else None
    where = "" if after is None else f" from index 1 of {after} on"
    return f"wrong{where}" if where and not of else f"{_some(wrong, of)} wrong{where}"


def _is_apart(comparison: Comparison) -> bool:
    """Returns whether right values are far nearer than the worst, not just within the tolerance.

    A few values may be right by chance.
    """
    right = comparison.ratio[comparison.ratio <= 1]
    if right.numel() < _PATTERN:
        return False
    nearest = float(right.max())
    return nearest * _APART <= float(comparison.ratio.max())


def wrong_places(
    wrong: torch.Tensor, axes: Sequence[str]
) -> Iterator[tuple[str, Sequence[int], int]]:
    """Yields each axis with some right places: its name, its wrong places and its size."""
    for place, axis in enumerate(axes):
        others = [other for other in range(wrong.ndim) if other != place]
        along = wrong.any(dim=others) if others else wrong
        places = [int(i) for i in along.nonzero().flatten()]
        if 0 < len(places) < len(along):
            yield axis, places, len(along)


def _all_but_the_first(wrong: torch.Tensor, axes: Sequence[str]) -> str | None:
    """Returns the first axis along which only index 0 is right, if there is one."""
    for axis, places, size in wrong_places(wrong, axes):
        if size >= 3 and places == list(range(1, size)):
            return axis
    return None


def _some(wrong: torch.Tensor, of: str) -> str:
    if bool(wrong.all()):
        return f"every value{of} is"
    return f"some values{of} are" if int(wrong.sum()) > 1 else f"one value{of} is"


def _kinds(got: torch.Tensor, wrong: torch.Tensor) -> dict[str, int]:
    """Counts the `wrong` numbers that are NaN, and infinite; leaves out a count of 0."""
    kinds = {"NaN": got.isnan(), "infinite": got.isinf()}
    counts = {kind: int((wrong & which).sum()) for kind, which in kinds.items()}
    return {kind: count for kind, count in counts.items() if count}


def _factor(comparison: Comparison) -> float | None:
    """Returns the factor by which all values are too large, if they share one."""
    want = comparison.want.flatten()
    if want.numel() < _PATTERN or not bool(want.isfinite().all()):
        return None
    allowed = comparison.measurement.atol + comparison.measurement.rtol * float(want.abs().max())
    factors = comparison.got.flatten() / want
    if float(want.max() - want.min()) <= _SPREAD * allowed or not bool(factors.isfinite().all()):
        return None
    spread, off = float(factors.max() - factors.min()), float((factors - 1).abs().max())
    return float(factors.mean()) if float(factors.min()) > 0 and spread <= _ROUNDED * off else None


_ROWS = 5
# The spread of values taken as equal.
_ROUNDED = 1e-2
_NAN = (
    "NaN can come from 0/0, inf/inf, inf-inf, 0*inf, the root or logarithm of negative "
    "numbers, or softmax over only -inf. A tensor of torch.empty also holds such values until you "
    "fill it."
)
_GRADIENT = "the gradient of "
_NAN_BACKWARD = (
    "A gradient can be NaN though the result is right: after an overflow (exp(100) in float32), "
    "at sqrt(0), and from what torch.where leaves out."
)
_DIGITS = {torch.float16: 3, torch.bfloat16: 2}
# An answer off by this share of the largest value is nearly right.
_NEAR = 5e-3
# Rounding to half precision on the way leaves errors of at most this share of the largest value.
_COARSE = 0.25


def difference_in_words(what: str, comparison: Comparison, axes: Sequence[str]) -> list[str]:
    """Returns a sentence each on the fault, how many values are wrong, by how much, and where."""
    lines = [headline(what, comparison, axes)]
    is_measured = math.isfinite(comparison.measurement.error_over_tolerance)
    if bool(comparison.got.isnan().all()) and bool(comparison.strange.all()):
        lines += _reasons_for_nan(what)
    elif bool(comparison.strange.any()):
        lines.append(f"{_amount(what, comparison)}{_strange(comparison, comparison.strange)}")
        lines += _rows_without_a_number(what, comparison, axes)
    elif comparison.boolean:
        lines.append(_amount(what, comparison))
    elif not comparison.got.ndim:
        off = f"; it is {_off(comparison)}" if is_measured else ""
        lines.append(f"{what} is {_number(float(comparison.got))}{off}")
    elif not is_measured:
        lines.append(f"{_amount(what, comparison)}{_strange(comparison, comparison.ratio > 1)}")
    else:
        place = list(comparison.measurement.worst)
        by = "" if comparison.whole else " by tolerance"
        worst = f"the worst{by} is at index {place}: {_off(comparison)}"
        lines.append(f"{_amount(what, comparison)}; {worst}")
    return [*lines, *(_where(comparison.ratio > 1, axes) if _is_apart(comparison) else ())]


def is_near(got: torch.Tensor, want: torch.Tensor, share: float = _NEAR) -> bool:
    """Returns whether each error is at most a small `share` of the largest expected value."""
    if got.shape != want.shape or not want.numel():
        return False
    off = (got.to(torch.float64) - want.to(torch.float64)).abs().max()
    return bool(off <= share * want.to(torch.float64).abs().max())


def precision_in_words(comparison: Comparison, dtype: torch.dtype) -> Iterator[str]:
    """Yields advice for answers in half precision that are right in float32."""
    if dtype in _DIGITS and is_near(comparison.got, comparison.want, _COARSE):
        name = str(dtype).removeprefix("torch.")
        yield (
            f"{name} holds {_DIGITS[dtype]} digits: if the same is right in float32, a step on the "
            "way needs x.float()."
        )


def _amount(what: str, comparison: Comparison) -> str:
    measurement = comparison.measurement
    return f"{measurement.wrong} of {measurement.total} values in {what} are wrong"


def _off(comparison: Comparison) -> str:
    worst = comparison.measurement.worst
    off = float((comparison.got[worst] - comparison.want[worst]).abs())
    if comparison.whole:
        return f"off by {off:.0f}"
    ratio = comparison.measurement.error_over_tolerance
    times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return f"off by {off:.3g}, {times} times the tolerance"


def _are(count: int) -> str:
    return "1 is" if count == 1 else f"{count} are"


def _strange(comparison: Comparison, wrong: torch.Tensor) -> str:
    """Returns how many of the `wrong` numbers are NaN, how many infinite, and where the first is.

    Returns "" if there are none.
    """
    kinds = _kinds(comparison.got, wrong)
    told = " and ".join(f"{_are(count)} {kind}" for kind, count in kinds.items())
    place = _first_place(wrong & ~comparison.got.isfinite()) if wrong.ndim else ""
    return told and f": {told}{place}"


def _first_place(wrong: torch.Tensor) -> str:
    index = list(place_of_largest(wrong.int()))
    return f", {'the first ' if int(wrong.sum()) > 1 else ''}at index {index}"


def _reasons_for_nan(what: str) -> Iterator[str]:
    """Yields how NaN can arise, also in the gradient of an argument while the result is right."""
    yield _NAN
    if what.startswith(_GRADIENT) and what.removeprefix(_GRADIENT).isidentifier():
        yield _NAN_BACKWARD


def _rows_without_a_number(what: str, comparison: Comparison, axes: Sequence[str]) -> Iterator[str]:
    """Yields which whole rows are NaN, if any, and how NaN can arise."""
    nan = comparison.strange & comparison.got.isnan()
    if not bool(nan.any()):
        return
    if nan.ndim and nan.shape[-1] > 1 and torch.equal(nan.any(-1), nan.all(-1)):
        rows = nan.all(-1)
        count = int(rows.sum())
        are = "1 whole row is" if count == 1 else f"{count} whole rows are"
        yield f"{are} NaN, all along {axes[-1]}{_first_place(rows)}."
    yield from _reasons_for_nan(what)


def _where(wrong: torch.Tensor, axes: Sequence[str]) -> Iterator[str]:
    """Yields a sentence on the indices of each axis to which the wrong values are confined."""
    said = []
    for axis, places, size in wrong_places(wrong, axes):
        words = _simply(places, size)
        if words:
            said.append(f"{axis} = {words} (of {size})")
    if said:
        yield f"All of them are at {', '.join(said)}; the rest is as expected."


def _simply(places: Sequence[int], size: int) -> str | None:
    """Returns `0`, `2 to 4` or `1, 3, 5, …`; None if no short form fits."""
    first, last = places[0], places[-1]
    if first == last:
        return str(first)
    if list(places) == list(range(first, last + 1)):
        return f"{first} to {last}"
    if size > 3 and list(places) == list(range(first % 2, size, 2)):
        return ", ".join([*map(str, places[:3]), *(["…"] if len(places) > 3 else [])])
    return None


def worst_in_a_table(comparison: Comparison, shows_expected: bool) -> Iterator[str]:
    """Yields a table of the worst numbers: index, expected value (if shown), got, off by."""
    if comparison.boolean or bool(comparison.strange.any()):
        return
    is_measured = math.isfinite(comparison.measurement.error_over_tolerance)
    header = ["index", *["expected"] * shows_expected, "got", *["off by"] * is_measured]
    rows = [header]
    order = comparison.ratio.reshape(-1).argsort(descending=True, stable=True)
    for number in order[: min(_ROWS, comparison.measurement.wrong)]:
        place = place_of(number, comparison.ratio.shape)
        want, got = float(comparison.want[place]), float(comparison.got[place])
        shown = [_number(want)] if shows_expected else []
        off = [_number(abs(got - want), 3)] if is_measured else []
        rows.append([str(list(place)), *shown, _number(got), *off])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for index, *numbers in rows:
        aligned = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        yield "    " + "  ".join([index.ljust(widths[0]), *aligned])


def _number(value: float, digits: int = 6) -> str:
    # Added to zero, -0.0 is 0.0.
    return f"{value + 0.0:.{digits}g}" if math.isfinite(value) else str(value)
