"""Records of the operations in a call, the seconds that imports took, and signals."""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.core.wire.tensors import BadFrame
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


MAX_IMPORTS = 40
_LONGEST = 100
_WORTH_TELLING = 1e-3


def imports_as_json(seconds: Mapping[str, float]) -> list[Any]:
    """The slowest imports as a JSON array; what takes no millisecond is left out."""
    slow = [entry for entry in seconds.items() if entry[1] >= _WORTH_TELLING]
    slowest = sorted(slow, key=lambda entry: -entry[1])[:MAX_IMPORTS]
    return [[name, round(float(taken), 4)] for name, taken in slowest]


def imports_from_json(entry: object, at_most: float) -> dict[str, float]:
    """Reads the imports that `imports_as_json` wrote, with at most `at_most` seconds in all.

    Raises:
        BadFrame: if it is something else.
    """
    if not isinstance(entry, list):
        raise BadFrame("the imports are not a list")
    seconds: dict[str, float] = {}
    for row in entry[:MAX_IMPORTS]:
        if not isinstance(row, list) or len(row) != 2 or type(row[1]) is not float:
            raise BadFrame("an import is not described as it must be")
        name, taken = row
        if not isinstance(name, str) or not 0 <= taken < math.inf:
            raise BadFrame("an import is not described as it must be")
        if _is_dotted(name):
            left = at_most - sum(seconds.values())
            seconds[name] = round(min(taken, max(left, 0.0)), 4)
    return seconds


def texts_from_json(entry: object) -> tuple[str, ...]:
    """Reads a worker's list of texts on absent or undone things, and bounds it.

    Raises:
        BadFrame: if it is something else.
    """
    if not isinstance(entry, list):
        raise BadFrame("what an import lacks is not a list")
    return tuple(str(name)[:_LONGEST] for name in entry[:MAX_IMPORTS])


def _is_dotted(name: str) -> bool:
    return len(name) <= _LONGEST and all(part.isidentifier() for part in name.split("."))


# Tell where you are as soon as Python looks for signals, as it does at home; or wherever that is.
# Either way, end.
TELL_WHERE_SOON = signal.SIGUSR2
TELL_WHERE = signal.SIGUSR1
