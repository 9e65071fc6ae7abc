"""Says in words and without numbers what is wrong with an answer: the headline of a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from grader.testing.comparison import Comparison

# The name of an answer that nobody gave a name.
RESULT = "the result"
# Fewer values fit a pattern by chance.
_TELLING = 4
# How far apart, in relation to the largest, values lie that are one.
_ROUNDED = 1e-2
# By so many tolerances the expected values differ from each other, at least.
_SPREAD = 100.0


def headline(what: str, comparison: Comparison, axes: Sequence[str]) -> str:
    """Returns the headline of a wrong answer: "wrong from index 1 of seq on"."""
    of = "" if what == RESULT else f" of {what}"
    if bool(comparison.strange.any()):
        return f"{_some(comparison.strange, of)} {_strange(comparison)}"
    wrong = comparison.ratio > 1
    if comparison.boolean:
        return _untrue(of, wrong, comparison)
    if not comparison.got.ndim:
        return f"{what} is wrong"
    pattern = _pattern(comparison) if bool(wrong.all()) else ""
    if pattern:
        return f"every value{of} {pattern}"
    if _is_reordered(comparison):
        return f"the values{of} are right but in the wrong places"
    where = next(_where(wrong, axes), "")
    if where:
        return f"wrong {where}" if not of else f"{what} is wrong {where}"
    return f"{_some(wrong, of)} wrong"


def wrong_places(
    wrong: torch.Tensor, axes: Sequence[str]
) -> Iterator[tuple[str, Sequence[int], int]]:
    """Yields the axes that have right places: the name, the wrong places, and the size."""
    for place, axis in enumerate(axes):
        others = [other for other in range(wrong.ndim) if other != place]
        along = wrong.any(dim=others) if others else wrong
        places = [int(i) for i in along.nonzero().flatten()]
        if 0 < len(places) < len(along):
            yield axis, places, len(along)


def _where(wrong: torch.Tensor, axes: Sequence[str]) -> Iterator[str]:
    """Yields the wrong part of an axis, where every value of that part's places may be wrong."""
    for axis, places, size in wrong_places(wrong, axes):
        first, last = places[0], places[-1]
        if size < 3 or len(places) != last - first + 1:
            continue
        if last == size - 1:
            yield f"from index 1 of {axis} on" if first == 1 else f"at the end of {axis}"
        elif first == 0:
            yield f"at index 0 of {axis}" if last == 0 else f"at the start of {axis}"


def _some(wrong: torch.Tensor, of: str) -> str:
    if bool(wrong.all()):
        return f"every value{of} is"
    return f"some values{of} are" if int(wrong.sum()) > 1 else f"one value{of} is"


def _strange(comparison: Comparison) -> str:
    strange, got = comparison.strange, comparison.got
    kinds = [("NaN", got.isnan()), ("infinite", got.isinf())]
    return " or ".join(name for name, which in kinds if bool((strange & which).any()))


def _untrue(of: str, wrong: torch.Tensor, comparison: Comparison) -> str:
    if bool(wrong.all()):
        return f"every value{of} is the opposite of what it must be"
    kinds = [
        (f"{one} where {other} is expected", bool((wrong & (comparison.got == number)).any()))
        for one, other, number in (("True", "False", 1), ("False", "True", 0))
    ]
    said = " and ".join(words for words, is_there in kinds if is_there)
    return f"some values{of} are {said}"


def _pattern(comparison: Comparison) -> str:
    """Returns what is wrong with all values in the same way, or nothing."""
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
        and _is_one(factors, factors - 1)
    ):
        return f"is too {'large' if float(factors.mean()) > 1 else 'small'} by the same factor"
    return "is off by the same amount" if _is_one(got - want, got - want) else ""


def _is_one(numbers: torch.Tensor, scale: torch.Tensor) -> bool:
    """Returns whether numbers are one, but for a small share of the largest on a scale."""
    spread = float(numbers.max() - numbers.min())
    return spread <= _ROUNDED * float(scale.abs().max())


def _is_spread(comparison: Comparison) -> bool:
    """Returns whether the expected values are several, and far from each other."""
    want = comparison.want
    if want.numel() < _TELLING or not bool(want.isfinite().all()):
        return False
    allowed = comparison.measurement.atol + comparison.measurement.rtol * float(want.abs().max())
    return float(want.max() - want.min()) > _SPREAD * allowed


def _is_reordered(comparison: Comparison) -> bool:
    """Returns whether the answer holds the expected values, and each of these once."""
    got, want = (one.flatten().sort().values for one in (comparison.got, comparison.want))
    if not _is_spread(comparison) or not bool(got.isfinite().all()):
        return False
    allowed = comparison.measurement.atol + comparison.measurement.rtol * want.abs()
    is_distinct = int((want.diff() > allowed[1:]).sum()) >= want.numel() // 2
    return is_distinct and bool(((got - want).abs() <= allowed).all())
