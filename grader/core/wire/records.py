"""Records of a call, and the codec that writes dataclasses as JSON and reads them back.

A dataclass crosses as the list of its fields. `Annotated` gives the bounds: a longer text or list
is cut, a number out of range is refused. A field marked `KEPT_HERE` does not cross.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import torch

from grader.core.wire.values import BadFrame, Value

Kind = TypeVar("Kind")
_Reader = Callable[[Any], Any]

KEPT_HERE: Mapping[str, bool] = {"crosses": False}


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


def as_plain(value: Any) -> Any:
    """Returns a value of dataclasses, tuples, texts and numbers as plain JSON."""
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
    """Returns the function that reads an entry as a kind, for example `tuple[Line, ...]`.

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


def _bounded(kind: Any, bound: AtMost | OnOneLine | Below) -> _Reader:
    if isinstance(bound, Below):
        return functools.partial(_in_range, bound.end)
    if kind is str:
        return lambda entry: bound.cut(_of_type(str, entry))
    read = reader(kind)
    # Cuts first: the rest is not even checked.
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
        raise BadFrame("an entry is not a list")
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


MAX_RECORDS = 2000
# The most numbers in one record, and in all records of a call.
MAX_NUMBERS = 1 << 16
MAX_TOGETHER = 1 << 20
MAX_DEPTH = 12
_PREFIX = "record."


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the submission."""

    file: File
    line: LineNumber
    source: Source


@dataclass(frozen=True, slots=True)
class Record:
    """The result of a torch operation, and the submission's lines behind it, innermost last."""

    value: torch.Tensor
    stack: tuple[Line, ...]


def records_as_json(records: Sequence[Record]) -> dict[str, Any]:
    """Returns the lines of records as a JSON object; `values_of` returns their tensors."""
    stacks: dict[tuple[Line, ...], int] = {}
    places = [stacks.setdefault(record.stack, len(stacks)) for record in records]
    return {"stacks": as_plain([*stacks]), "places": places}


def values_of(records: Sequence[Record]) -> dict[str, Value]:
    """Returns the tensors of records, by the names under which they cross."""
    return {f"{_PREFIX}{number}": record.value for number, record in enumerate(records)}


def records_from_json(entry: object, values: Mapping[str, Value]) -> tuple[Record, ...]:
    """Returns the records that `records_as_json` and `values_of` wrote, their texts bounded.

    Raises:
        BadFrame: if the entry is anything else.
    """
    if entry is None:
        return ()
    if not isinstance(entry, dict):
        raise BadFrame("the records are not described by an object")
    stacks = _STACKS(entry.get("stacks"))
    records, left = [], MAX_TOGETHER
    for number, place in enumerate(_PLACES(entry.get("places"))):
        value = values.get(f"{_PREFIX}{number}")
        if not isinstance(value, torch.Tensor):
            raise BadFrame("a record is not a tensor")
        left -= value.numel()
        if value.numel() > MAX_NUMBERS or left < 0:
            raise BadFrame("the records hold more numbers than they may")
        if place >= len(stacks):
            raise BadFrame("a record is at a place that is not there")
        records.append(Record(value, stacks[place]))
    return tuple(records)


_STACKS = reader(tuple[Annotated[tuple[Line, ...], AtMost(MAX_DEPTH, last=True)], ...])
_PLACES = reader(Annotated[tuple[Annotated[int, Below(1 << 31)], ...], AtMost(MAX_RECORDS)])
