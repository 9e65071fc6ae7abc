"""The codec that writes dataclasses as JSON and reads them back, between processes and from files.

A dataclass is an object of its fields. `Annotated` gives the bounds for data that a submission may
have written: a longer text or list is cut, a number out of range is refused. A field marked
`KEPT_HERE` does not cross.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import os
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")
_Reader = Callable[[Any], Any]

KEPT_HERE: Mapping[str, bool] = {"crosses": False}


class BadFrame(ValueError):
    """Bytes on the channel that are not a frame, or data that is not of the kind it must be."""


@dataclass(frozen=True, slots=True)
class AtMost:
    """A bound for a text or list: a longer one keeps its beginning, or its end if `last`."""

    size: int
    last: bool = False

    def cut(self, whole: Any) -> Any:
        """Returns the part of a text or list that is kept."""
        return whole[-self.size :] if self.last else whole[: self.size]


@dataclass(frozen=True, slots=True)
class OnOneLine:
    """A bound for a text within a line of a message: names and files may have several lines."""

    size: int

    def cut(self, whole: Any) -> str:
        """Returns the beginning of the text, with a space for each line break."""
        return " ".join(whole[: self.size].splitlines())


@dataclass(frozen=True, slots=True)
class Below:
    """The range of a whole number: from 0 to `end`, exclusive."""

    end: int


Name = Annotated[str, OnOneLine(100)]
File = Annotated[str, OnOneLine(300)]
Source = Annotated[str, OnOneLine(300)]
LineNumber = Annotated[int, Below(1 << 31)]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the submission."""

    file: File
    line: LineNumber
    source: Source


def written(value: Any) -> Any:
    """Returns a value of dataclasses and tuples as plain data of JSON, with infinities as texts."""
    kind: Any = type(value)
    return _writer(kind)(value)


@functools.cache
def _writer(kind: Any) -> Callable[[Any], Any]:
    if kind is float:
        return lambda value: value if math.isfinite(value) else str(value)
    if dataclasses.is_dataclass(kind):
        names = _crossing(kind)
        return lambda value: {name: written(getattr(value, name)) for name in names}
    if issubclass(kind, tuple | list):
        return lambda value: [*map(written, value)]
    if issubclass(kind, frozenset):
        return sorted
    if issubclass(kind, Mapping):
        return lambda value: {key: written(own) for key, own in value.items()}
    if issubclass(kind, datetime.datetime):
        return datetime.datetime.isoformat
    return os.fspath if issubclass(kind, Path) else lambda value: value


def read(kind: Callable[..., Kind], entry: object) -> Kind:
    """Returns the value of a kind that `written` wrote; a field that is missing has its default.

    Raises:
        BadFrame: if the entry is something else, or a number in it is out of range.
    """
    value: Kind = reader(kind)(entry)
    return value


@functools.cache
def reader(kind: Any) -> _Reader:
    """Returns the function that reads an entry as a kind, for example `tuple[Line, ...]`.

    The function raises `BadFrame` for anything else.
    """
    own = _reader(kind)

    def reads(entry: object) -> Any:
        try:
            return own(entry)
        except BadFrame:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise BadFrame("data is not of the kind that it must be") from error

    return reads


@functools.cache
def _reader(kind: Any) -> _Reader:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(parts[0], parts[1])
    if origin in (Union, types.UnionType):
        (some,) = (_reader(part) for part in parts if part is not type(None))
        return lambda entry: None if entry is None else some(entry)
    if origin is tuple and parts[1:] != (...,):
        each = [*map(_reader, parts)]
        return lambda entry: tuple(
            read(own) for read, own in zip(each, _listed(entry), strict=True)
        )
    if origin in (tuple, list, frozenset):
        one = _reader(parts[0])
        return lambda entry: origin(map(one, _listed(entry)))
    if origin is Mapping:
        one = _reader(parts[1])
        return lambda entry: {str(key): one(own) for key, own in _of_type(dict, entry).items()}
    hints = get_type_hints(kind, include_extras=True) if isinstance(kind, type) else {}
    if hasattr(kind, "_fields"):
        each = [_reader(hints[name]) for name in kind._fields]
        return lambda row: kind(*(read(own) for read, own in zip(each, row, strict=False)))
    if dataclasses.is_dataclass(kind):
        return _reader_of_fields(kind, {name: _reader(hints[name]) for name in _crossing(kind)})
    if kind in (str, int, bool):
        return functools.partial(_of_type, kind)
    return datetime.datetime.fromisoformat if kind is datetime.datetime else kind


def _reader_of_fields(make: Any, fields: Mapping[str, _Reader]) -> _Reader:
    def of_fields(entry: object) -> Any:
        row = _of_type(dict, entry)
        return make(**{name: read(row[name]) for name, read in fields.items() if name in row})

    return of_fields


def _bounded(kind: Any, bound: AtMost | OnOneLine | Below) -> _Reader:
    if isinstance(bound, Below):
        return functools.partial(_in_range, bound.end)
    if kind is str:
        return lambda entry: bound.cut(_of_type(str, entry))
    own = _reader(kind)
    # Cuts first: the rest is not even checked.
    return lambda entry: own(bound.cut(_listed(entry)))


def _listed(entry: object) -> list[Any] | tuple[Any, ...]:
    if not isinstance(entry, list | tuple):
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


def _crossing(kind: Any) -> tuple[str, ...]:
    """Returns the names of the fields that cross."""
    fields = (one for one in dataclasses.fields(kind) if one.init)
    return tuple(one.name for one in fields if one.metadata.get("crosses", True))
