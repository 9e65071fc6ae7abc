"""Dataclasses as plain JSON: an object of their fields, in which a tuple is a list."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import os
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, Union, get_args, get_origin, get_type_hints


class PlainData:
    """A dataclass that crosses between processes, or is stored, as an object of its fields."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the fields as an object of JSON, with NaN and infinities as texts."""
        row: dict[str, Any] = _written(self)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Returns what `as_json` wrote; a field that is missing has its default.

        Raises:
            LookupError, TypeError, ValueError: if the row is anything else.
        """
        kind: Any = cls
        made: Self = _reader(kind)(row)
        return made


def _written(value: Any) -> Any:
    if type(value) is float:
        return value if math.isfinite(value) else str(value)
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        return {one.name: _written(getattr(value, one.name)) for one in _fields(kind)}
    if isinstance(value, tuple | list):
        return [*map(_written, value)]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return {key: _written(own) for key, own in value.items()}
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return os.fspath(value) if isinstance(value, Path) else value


@functools.cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Returns the function that makes a value of a kind from what `_written` made of one."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        some = _reader(parts[0])
        return lambda entry: None if entry is None else some(entry)
    if origin is tuple and parts[1:] != (...,):
        each = [*map(_reader, parts)]
        return lambda entry: tuple(read(own) for read, own in zip(each, entry, strict=True))
    if origin in (tuple, frozenset):
        one = _reader(parts[0])
        return lambda entry: origin(map(one, entry))
    if origin is Mapping:
        one = _reader(parts[1])
        return lambda entry: {str(key): one(own) for key, own in dict(entry).items()}
    if dataclasses.is_dataclass(kind):
        make: Any = kind
        hints = get_type_hints(make)
        fields = {field.name: _reader(hints[field.name]) for field in _fields(make)}
        return lambda row: make(
            **{name: read(row[name]) for name, read in fields.items() if name in row}
        )
    return datetime.datetime.fromisoformat if kind is datetime.datetime else kind


@functools.cache
def _fields(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    return tuple(field for field in dataclasses.fields(kind) if field.init)
