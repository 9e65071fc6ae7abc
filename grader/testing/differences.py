"""Sentences on how an answer differs from the expected values: how much, where, the worst.

The headline of a failure names the fault without numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from grader.core.wire.calls import Traced
from grader.core.wire.records import Line
from grader.testing.comparison import (
    Comparison,
    all_within,
    place_of,
    place_of_largest,
    tolerance_for,
)
from grader.testing.outcome import known_of, place_in_words

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
    if comparison.boolean:
        return _opposite(of, wrong, comparison)
    if not comparison.got.ndim:
        return f"{what} is wrong"
    pattern = _pattern(comparison) if bool(wrong.all()) else ""
    if pattern:
        return f"every value{of} {pattern}"
    if _is_reordered(comparison):
        return f"the values{of} are right but in the wrong places"
    where = next(_where_in_short(wrong, axes), "") if _is_apart(comparison) else ""
    if where:
        return f"wrong {where}" if not of else f"{_some(wrong, of)} wrong {where}"
    return f"{_some(wrong, of)} wrong"


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


def _where_in_short(wrong: torch.Tensor, axes: Sequence[str]) -> Iterator[str]:
    """Yields each axis that is wrong from index 1 on, or in a short part at its start or end."""
    for axis, places, size in wrong_places(wrong, axes):
        first, last = places[0], places[-1]
        if size < 3 or len(places) != last - first + 1:
            continue
        is_short = 2 * len(places) <= size
        if last == size - 1 and (first == 1 or is_short):
            yield f"from index 1 of {axis} on" if first == 1 else f"at the end of {axis}"
        elif first == 0 and is_short:
            yield f"at index 0 of {axis}" if last == 0 else f"at the start of {axis}"


def _some(wrong: torch.Tensor, of: str) -> str:
    if bool(wrong.all()):
        return f"every value{of} is"
    return f"some values{of} are" if int(wrong.sum()) > 1 else f"one value{of} is"


def _kinds(got: torch.Tensor, wrong: torch.Tensor) -> dict[str, int]:
    """Counts the `wrong` numbers that are NaN, and infinite; leaves out a count of 0."""
    kinds = {"NaN": got.isnan(), "infinite": got.isinf()}
    counts = {kind: int((wrong & which).sum()) for kind, which in kinds.items()}
    return {kind: count for kind, count in counts.items() if count}


def _opposite(of: str, wrong: torch.Tensor, comparison: Comparison) -> str:
    if bool(wrong.all()):
        return f"every value{of} is the opposite of what it must be"
    ways = {"True where False": comparison.got == 1, "False where True": comparison.got == 0}
    pairs = [f"{way} is expected" for way, which in ways.items() if bool((wrong & which).any())]
    return f"some values{of} are {' and '.join(pairs)}"


def _pattern(comparison: Comparison) -> str:
    """Returns the fault that all values share, or an empty text."""
    got, want = comparison.got.flatten(), comparison.want.flatten()
    if not _is_spread(comparison):
        return ""
    if bool((got == 0).all()):
        return "is 0"
    if bool((got == got[0]).all()):
        return "is the same"
    if float((got + want).abs().max()) <= _ROUNDED * float(want.abs().max()):
        return "has the wrong sign"
    factors = got / want
    if (
        bool(factors.isfinite().all())
        and float(factors.min()) > 0
        and _are_equal(factors, factors - 1)
    ):
        return f"is too {'large' if float(factors.mean()) > 1 else 'small'} by the same factor"
    return "is off by the same amount" if _are_equal(got - want, got - want) else ""


def _are_equal(numbers: torch.Tensor, scale: torch.Tensor) -> bool:
    """Returns whether numbers differ by at most a small share of the largest value of `scale`."""
    spread = float(numbers.max() - numbers.min())
    return spread <= _ROUNDED * float(scale.abs().max())


def _is_spread(comparison: Comparison) -> bool:
    """Returns whether there are several expected values, far from each other."""
    want = comparison.want
    if want.numel() < _PATTERN or not bool(want.isfinite().all()):
        return False
    allowed = comparison.measurement.atol + comparison.measurement.rtol * float(want.abs().max())
    return float(want.max() - want.min()) > _SPREAD * allowed


def _is_reordered(comparison: Comparison) -> bool:
    """Returns whether the answer holds the expected values in another order."""
    got, want = (one.flatten().sort().values for one in (comparison.got, comparison.want))
    if not _is_spread(comparison) or not bool(got.isfinite().all()):
        return False
    allowed = comparison.measurement.atol + comparison.measurement.rtol * want.abs()
    is_distinct = int((want.diff() > allowed[1:]).sum()) >= want.numel() // 2
    return is_distinct and bool(((got - want).abs() <= allowed).all())


_ROWS = 5
# The spread of values taken as equal.
_ROUNDED = 1e-2
_DIGITS = {torch.float16: 3, torch.bfloat16: 2}
_UNWRITTEN = "A tensor of torch.empty also holds such values until you fill it."
_NAN = (
    "NaN can come from 0/0, inf/inf, inf-inf, 0*inf, the root or logarithm of negative "
    f"numbers, or softmax over only -inf. {_UNWRITTEN}"
)
_GRADIENT = "the gradient of "
_NAN_BACKWARD = (
    "A gradient can be NaN though the result is right: after an overflow (exp(100) in float32), "
    "at sqrt(0), and from what torch.where leaves out."
)
_INFINITE = (
    "Infinity can come from a division by 0, the logarithm of 0, or values too large for the "
    f"dtype, like exp(89) in float32. {_UNWRITTEN}"
)
# An answer off by this share of the largest value is nearly right.
_NEAR = 5e-3
# Rounding to half precision on the way leaves errors of at most this share of the largest value.
_COARSE = 0.25


@dataclass(frozen=True, slots=True)
class Conversion:
    """A result whose dtype is not that of the inputs, and the line that changed the dtype.

    It `explains` the errors if they are within the tolerance of the result's dtype.
    """

    dtype: torch.dtype
    input_dtype: torch.dtype
    line: Line | None
    explains: bool
    by_inputs: bool = True

    @classmethod
    def of(cls, actual: torch.Tensor, expected: torch.Tensor) -> Conversion | None:
        """Returns the conversion to an answer's dtype; None if the inputs have the same dtype."""
        known = known_of(actual)
        if known is None or not actual.is_floating_point() or actual.dtype is known.input_dtype:
            return None
        explains = all_within(actual, expected, tolerance_for(actual.dtype))
        line = known.trace(Traced.DTYPE)
        return cls(actual.dtype, known.input_dtype, line, explains, known.by_inputs)

    def in_words(self, what: str) -> Iterator[str]:
        """Yields sentences on both dtypes and on the line where the dtype changes."""
        dtype, asked = (str(kind).removeprefix("torch.") for kind in (self.dtype, self.input_dtype))
        digits = _DIGITS.get(self.dtype)
        coarse = f" {dtype} holds {digits} digits of a number." if digits else ""
        must = f"and the inputs are {asked}: it must stay" if self.by_inputs else "and must be"
        yield f"{what} is {dtype}, {must} {asked}.{coarse}"
        if self.line is not None:
            yield f"It is {dtype} from this line on: {place_in_words(self.line)}"


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


def as_before(what: str) -> str:
    """Returns the sentence that a call left a gradient unchanged."""
    is_it = "the gradient is as it" if what == RESULT else f"{what} is the gradient as it"
    reached = "as if no line like p.grad.mul_(…) was reached (g = g * … makes a new tensor)"
    return f"{is_it} was before the call, {reached}"


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
    """Yields which whole rows are NaN, if any, and how NaN or infinity can arise."""
    nan = comparison.strange & comparison.got.isnan()
    if not bool(nan.any()):
        if bool(comparison.strange.any()):
            yield _INFINITE
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
