"""Writes dataclasses as JSON, and reads them back by their annotations, within their bounds.

A dataclass crosses as the list of its fields. `Annotated` gives the bounds: a longer text or list
is cut, a number out of range is refused. A field marked `KEPT_HERE` does not cross.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from grader.core.wire.tensors import BadFrame

Kind = TypeVar("Kind")
_Reader = Callable[[Any], Any]

KEPT_HERE: Mapping[str, bool] = {"crosses": False}


@dataclass(frozen=True, slots=True)
class AtMost:
    """The longest text or list; of a longer one the beginning stays, or the end if `last`."""

    size: int
    last: bool = False

    def cut(self, whole: Any) -> Any:
        """Returns what stays of a text or a list."""
        return whole[-self.size :] if self.last else whole[: self.size]


@dataclass(frozen=True, slots=True)
class Below:
    """The range of a whole number: from 0 to `end`, without it."""

    end: int


Name = Annotated[str, AtMost(100)]
File = Annotated[str, AtMost(300)]
Source = Annotated[str, AtMost(300)]
LineNumber = Annotated[int, Below(1 << 31)]


def as_plain(value: Any) -> Any:
    """Returns a value of dataclasses, tuples, texts and numbers as JSON has it."""
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        return [as_plain(getattr(value, name)) for name in _crossing(kind)]
    return [as_plain(one) for one in value] if isinstance(value, tuple | list) else value


def from_plain(kind: Callable[..., Kind], entry: object) -> Kind:
    """Returns the value of a kind that `as_plain` wrote.

    Raises:
        BadFrame: if the entry is something else, or a number in it is out of range.
    """
    value: Kind = reader(kind)(entry)
    return value


@functools.cache
def reader(kind: Any) -> _Reader:
    """Returns the function that reads an entry as that kind, such as `tuple[Line, ...]`.

    The function raises `BadFrame` for anything else.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(parts[0], parts[1])
    if origin in (Union, types.UnionType):
        (some,) = (reader(part) for part in parts if part is not type(None))
        return lambda entry: None if entry is None else some(entry)
    if origin is tuple and parts[1:] == (...,):
        each = reader(parts[0])
        return lambda entry: tuple(map(each, _listed(entry)))
    if origin is tuple:
        return _rows(tuple, [reader(part) for part in parts])
    if dataclasses.is_dataclass(kind):
        make: Any = kind
        hints = get_type_hints(kind, include_extras=True)
        return _rows(lambda row: make(*row), [reader(hints[name]) for name in _crossing(make)])
    return functools.partial(_of_type, kind)


def _bounded(kind: Any, bound: AtMost | Below) -> _Reader:
    if isinstance(bound, Below):
        return functools.partial(_in_range, bound.end)
    if kind is str:
        return lambda entry: bound.cut(_of_type(str, entry))
    read = reader(kind)
    # What is cut is not even looked at.
    return lambda entry: read(bound.cut(_listed(entry)))


def _rows(make: Callable[[list[Any]], Any], readers: list[_Reader]) -> _Reader:
    def read(entry: object) -> Any:
        row = _listed(entry)
        if len(row) != len(readers):
            raise BadFrame(f"a row has {len(row)} entries in the place of {len(readers)}")
        return make([one(part) for one, part in zip(readers, row, strict=True)])

    return read


def _listed(entry: object) -> list[Any]:
    if not isinstance(entry, list):
        raise BadFrame("an entry is not the list that it must be")
    return entry


def _of_type(kind: type, entry: object) -> Any:
    if type(entry) is not kind:
        raise BadFrame(f"an entry is not the {kind.__name__} that it must be")
    return entry


def _in_range(end: int, entry: object) -> int:
    number: int = _of_type(int, entry)
    if not 0 <= number < end:
        raise BadFrame(f"a number is not below {end}")
    return number


@functools.cache
def _crossing(kind: type) -> tuple[str, ...]:
    """Returns the names of the fields that cross, which come before those that do not."""
    return tuple(one.name for one in dataclasses.fields(kind) if one.metadata.get("crosses", True))
