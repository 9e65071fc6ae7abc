"""What a call computed on its way: the results of torch operations, and the lines behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.core.wire.payload import BadFrame
from grader.core.wire.values import Value

MAX_RECORDS = 2000
# Numbers in one record, and in all of a call.
MAX_NUMBERS = 1 << 16
MAX_TOGETHER = 1 << 20
MAX_DEPTH = 12
_LINES = 1 << 31
_PREFIX = "record."


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the submission."""

    file: str
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class Record:
    """The result of a torch operation, and the submission's lines behind it, innermost last."""

    value: torch.Tensor
    stack: tuple[Line, ...]


def records_as_json(records: Sequence[Record]) -> dict[str, Any]:
    """The lines of records as a JSON object; their tensors are `values_of` them."""
    stacks: dict[tuple[Line, ...], int] = {}
    lines: dict[Line, int] = {}
    places = []
    for record in records:
        for line in record.stack:
            lines.setdefault(line, len(lines))
        places.append(stacks.setdefault(record.stack, len(stacks)))
    return {
        "lines": [[line.file, line.line, line.source] for line in lines],
        "stacks": [[lines[line] for line in stack] for stack in stacks],
        "places": places,
    }


def values_of(records: Sequence[Record]) -> dict[str, Value]:
    """The tensors of records, by the names under which they cross."""
    return {f"{_PREFIX}{number}": record.value for number, record in enumerate(records)}


def records_from_json(entry: object, values: Mapping[str, Value]) -> tuple[Record, ...]:
    """The records that `records_as_json` and `values_of` described, their texts bounded.

    Raises:
        BadFrame: if it is something else.
    """
    if entry is None:
        return ()
    if not isinstance(entry, dict):
        raise BadFrame("the records are not described by an object")
    lines = [_line(row) for row in _list(entry.get("lines"))]
    stacks = [
        tuple(lines[_index(number, lines)] for number in _list(row)[-MAX_DEPTH:])
        for row in _list(entry.get("stacks"))
    ]
    records, left = [], MAX_TOGETHER
    for number, place in enumerate(_list(entry.get("places"))[:MAX_RECORDS]):
        value = values.get(f"{_PREFIX}{number}")
        if not isinstance(value, torch.Tensor):
            raise BadFrame("a record is no tensor")
        left -= value.numel()
        if value.numel() > MAX_NUMBERS or left < 0:
            raise BadFrame("the records hold more numbers than they may")
        records.append(Record(value, stacks[_index(place, stacks)]))
    return tuple(records)


def _list(entry: object) -> list[Any]:
    if not isinstance(entry, list):
        raise BadFrame("the records are not described by lists")
    return entry


def _index(number: object, of: Sequence[object]) -> int:
    if type(number) is not int or not 0 <= number < len(of):
        raise BadFrame("a record is at a place that is not there")
    return number


def _line(row: object) -> Line:
    if not isinstance(row, list) or len(row) != 3 or type(row[1]) is not int:
        raise BadFrame("a line of a record is not described as it must be")
    file, line, source = row
    if not 0 <= line < _LINES:
        raise BadFrame("a record is at a line that cannot be")
    return Line(str(file)[:300], line, str(source)[:300])
