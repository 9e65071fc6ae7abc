"""Sentences on a wrong structure: the first place where two values differ, and wrong shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.core.names import several
from grader.core.text import quantity
from grader.core.wire.values import Elsewhere, Foreign, Named, Value
from grader.core.wire.values_in_words import in_words
from grader.testing.contract import Adapter
from grader.testing.kinds import TensorType, with_article

_SHOWN = 3
_AROUND = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of a value that is not as expected: its place in Python syntax, and how it differs.

    The numbers of two `tensors` of one shape are still to be compared. `words` reveal only the
    type and size of the expected value; `expected` reveals more.
    """

    place: str
    words: str = ""
    expected: str = ""
    tensors: tuple[torch.Tensor, torch.Tensor] | None = None


def differences(actual: Value, expected: Value, place: str = "") -> Iterator[Difference]:
    """Yields the parts in which two values differ or may differ.

    Always yields tensors of one shape, because their numbers are not compared here.
    """
    if isinstance(actual, numpy.ndarray) and isinstance(expected, numpy.ndarray | torch.Tensor):
        actual, expected = torch.as_tensor(actual), torch.as_tensor(expected)
    if isinstance(actual, torch.Tensor) and isinstance(expected, torch.Tensor):
        yield _of_tensors(actual, expected, place)
    elif isinstance(actual, float) and isinstance(expected, int | float):
        wanted = torch.tensor(float(expected), dtype=torch.float64)
        yield Difference(place, tensors=(torch.tensor(actual, dtype=torch.float64), wanted))
    elif (own := _fields(actual)) is not None and (others := _fields(expected)) is not None:
        yield from _of_dicts(own, others, place, fields=True)
    elif type(actual) is not type(expected):
        yield Difference(place, f"is {_kind(actual)}, where {_kind(expected)} was expected")
    elif isinstance(actual, dict) and isinstance(expected, dict):
        yield from _of_dicts(actual, expected, place)
    elif isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        yield from _of_sequences(actual, expected, place)
    elif isinstance(actual, set | frozenset) and isinstance(expected, set | frozenset):
        yield from _of_sets(actual, expected, place)
    elif isinstance(actual, str | bytes) and actual != expected:
        yield _of_texts(actual, expected, place)  # type: ignore[arg-type]
    elif actual != expected:
        yield Difference(place, f"is {in_words(actual)}", f"{in_words(expected)} was expected")


def _of_tensors(actual: torch.Tensor, expected: torch.Tensor, place: str) -> Difference:
    if actual.shape != expected.shape:
        shapes = list(actual.shape), list(expected.shape)
        return Difference(place, f"has shape {shapes[0]}, where {shapes[1]} was expected")
    return Difference(place, tensors=(actual, expected))


def _fields(value: Value) -> Mapping[str, Value] | None:
    """Returns the fields of a named tuple, whose class is unknown if it crossed; else None."""
    if isinstance(value, Named):
        return value.fields
    names = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    return None if names is None else dict(zip(names, value, strict=True))  # type: ignore[arg-type]


def _of_dicts(
    actual: Mapping[Any, Value], expected: Mapping[Any, Value], place: str, fields: bool = False
) -> Iterator[Difference]:
    absent = [key for key in expected if key not in actual]
    beyond = [key for key in actual if key not in expected]
    if absent or beyond:
        noun = "field" if fields else "key"
        yield _of_members(noun, absent, beyond, len(actual), len(expected), place)
        return
    for key, own in expected.items():
        inner = f".{key}" if fields else f"[{in_words(key)}]"
        yield from differences(actual[key], own, f"{place}{inner}")


def _of_sets(actual: Iterable[Any], expected: Iterable[Any], place: str) -> Iterator[Difference]:
    one, other = set(actual), set(expected)
    absent, beyond = sorted(other - one, key=in_words), sorted(one - other, key=in_words)
    if absent or beyond:
        yield _of_members("element", absent, beyond, len(one), len(other), place)


def _of_members(
    noun: str, absent: list[Any], beyond: list[Any], got: int, wanted: int, place: str
) -> Difference:
    words = f"has {quantity(got, noun)}, where {_expected(wanted)}"
    if got == wanted:
        words = f"has another {noun} than expected"
    if beyond:
        words += f"; {_listed(beyond)} too much"
    return Difference(place, words, f"{_listed(absent)} missing" if absent else "")


def _expected(number: int) -> str:
    return f"{number} {'was' if number == 1 else 'were'} expected"


def _of_sequences(
    actual: list[Value] | tuple[Value, ...], expected: list[Value] | tuple[Value, ...], place: str
) -> Iterator[Difference]:
    shared = min(len(actual), len(expected))
    for number in range(shared):
        yield from differences(actual[number], expected[number], f"{place}[{number}]")
    if len(actual) != len(expected):
        words = f"has {quantity(len(actual), 'element')}, where {_expected(len(expected))}"
        if len(actual) > shared:
            yield Difference(
                place, f"{words}: {in_words(actual[shared])} at [{shared}] is too much"
            )
        else:
            missing = f"{in_words(expected[shared])} at [{shared}] is missing"
            yield Difference(place, words, missing)


def _of_texts(actual: str | bytes, expected: str | bytes, place: str) -> Difference:
    if max(len(actual), len(expected)) <= 2 * _AROUND:
        return Difference(place, f"is {actual!r}", f"{expected!r} was expected")
    shared = next(
        (at for at, (a, b) in enumerate(zip(actual, expected, strict=False)) if a != b),
        min(len(actual), len(expected)),
    )
    start = max(shared - _AROUND, 0)
    got, wanted = (f"{text[start : shared + _AROUND]!r}" for text in (actual, expected))
    noun = "byte" if isinstance(actual, bytes) else "character"
    words = f"is right up to its {noun} {shared}, around which it is {got}"
    words = words if shared else f"begins with {got}"
    return Difference(place, words, f"{wanted} was expected")


def _kind(value: Value) -> str:
    if value is None:
        return "None"
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, Elsewhere):
        return f"a tensor on the device {value.device}"
    if isinstance(value, torch.Tensor | numpy.ndarray):
        noun = "tensor" if isinstance(value, torch.Tensor) else "numpy array"
        return f"a {noun} of shape {list(value.shape)}"
    if isinstance(value, bytes):
        return "bytes"
    return with_article(value.name if isinstance(value, Named) else type(value).__name__)


def _listed(members: list[Any]) -> str:
    return several([*map(in_words, members[:_SHOWN])], len(members), _SHOWN)


Shape = tuple[int, ...]


def wrong_shape(
    adapter: Adapter, wanted: TensorType, arguments: Mapping[str, Value], shape: Shape, got: Shape
) -> str:
    """Returns the expected and the actual shape in words, with axis names and their sizes.

    `shape` is the right one for these arguments.
    """
    sizes = adapter.sizes(arguments).named
    axes = dict.fromkeys(" ".join(wanted.axes).replace("*", " ").split())
    named = ", ".join(f"{axis}={sizes[axis]}" for axis in axes if axis in sizes)
    return (
        f"{adapter.name} must return shape ({' '.join(wanted.axes)}), which is {list(shape)}"
        f"{' with ' + named if named else ''}, not {list(got)}"
    )
