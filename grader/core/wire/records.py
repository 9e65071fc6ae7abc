"""Records of the operations in a call, the seconds that imports took, and signals."""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import torch

from grader.core.wire.codec import AtMost, Below, File, LineNumber, Source, as_plain, reader
from grader.core.wire.tensors import BadFrame
from grader.core.wire.values import Value

MAX_RECORDS = 2000
# Numbers in one record, and in all of a call.
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


@dataclass(frozen=True, slots=True)
class Unloaded:
    """A line that loads weights with `strict=False`, and parameters that it leaves as they were.

    `names` are the first of so `many`, `of` counts all parameters of the module.
    """

    line: Line
    names: Annotated[tuple[Annotated[str, AtMost(200)], ...], AtMost(20)]
    many: Annotated[int, Below(1 << 31)]
    of: Annotated[int, Below(1 << 31)]


def records_as_json(records: Sequence[Record]) -> dict[str, Any]:
    """Returns the lines of records as a JSON object; their tensors are `values_of` them."""
    stacks: dict[tuple[Line, ...], int] = {}
    lines: dict[Line, int] = {}
    places = []
    for record in records:
        for line in record.stack:
            lines.setdefault(line, len(lines))
        places.append(stacks.setdefault(record.stack, len(stacks)))
    return {
        "lines": as_plain(tuple(lines)),
        "stacks": [[lines[line] for line in stack] for stack in stacks],
        "places": places,
    }


def values_of(records: Sequence[Record]) -> dict[str, Value]:
    """Returns the tensors of records, by the names under which they cross."""
    return {f"{_PREFIX}{number}": record.value for number, record in enumerate(records)}


def records_from_json(entry: object, values: Mapping[str, Value]) -> tuple[Record, ...]:
    """Returns the records that `records_as_json` and `values_of` described, their texts bounded.

    Raises:
        BadFrame: if it is something else.
    """
    if entry is None:
        return ()
    if not isinstance(entry, dict):
        raise BadFrame("the records are not described by an object")
    lines = _LINES(entry.get("lines"))
    stacks = [tuple(_at(lines, place) for place in row) for row in _STACKS(entry.get("stacks"))]
    records, left = [], MAX_TOGETHER
    for number, place in enumerate(_PLACES(entry.get("places"))):
        value = values.get(f"{_PREFIX}{number}")
        if not isinstance(value, torch.Tensor):
            raise BadFrame("a record is no tensor")
        left -= value.numel()
        if value.numel() > MAX_NUMBERS or left < 0:
            raise BadFrame("the records hold more numbers than they may")
        records.append(Record(value, _at(stacks, place)))
    return tuple(records)


_Place = Annotated[int, Below(1 << 31)]
_LINES = reader(tuple[Line, ...])
_STACKS = reader(tuple[Annotated[tuple[_Place, ...], AtMost(MAX_DEPTH, last=True)], ...])
_PLACES = reader(Annotated[tuple[_Place, ...], AtMost(MAX_RECORDS)])
_Thing = TypeVar("_Thing")


def _at(things: Sequence[_Thing], place: int) -> _Thing:
    if place >= len(things):
        raise BadFrame("a record is at a place that is not there")
    return things[place]


MAX_IMPORTS = 40
_LONGEST = 100
_WORTH_TELLING = 1e-3
Texts = Annotated[tuple[Annotated[str, AtMost(_LONGEST)], ...], AtMost(MAX_IMPORTS)]


def slow_imports(seconds: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Returns the slowest imports, without those that take less than a millisecond."""
    slow = [entry for entry in seconds.items() if entry[1] >= _WORTH_TELLING]
    slowest = sorted(slow, key=lambda entry: -entry[1])[:MAX_IMPORTS]
    return tuple((name, round(float(taken), 4)) for name, taken in slowest)


def believed_imports(told: Sequence[tuple[str, float]], at_most: float) -> dict[str, float]:
    """Returns the imports that a worker tells, with at most `at_most` seconds in all.

    Raises:
        BadFrame: if an import takes no finite time, or less than none.
    """
    seconds: dict[str, float] = {}
    for name, taken in told:
        if not 0 <= taken < math.inf:
            raise BadFrame("an import does not take a time that can be")
        if _is_dotted(name):
            left = at_most - sum(seconds.values())
            seconds[name] = round(min(taken, max(left, 0.0)), 4)
    return seconds


def _is_dotted(name: str) -> bool:
    return len(name) <= _LONGEST and all(part.isidentifier() for part in name.split("."))


# Tell where you are as soon as Python looks for signals, as it does at home; or wherever that is.
# Either way, end.
TELL_WHERE_SOON = signal.SIGUSR2
TELL_WHERE = signal.SIGUSR1
