"""The lines of a submission's files that a call runs, and the kinds of its variables."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Self

import numpy
import torch

from grader.core.wire.calls import MAX_DEPTH
from grader.core.wire.records import Line
from grader.core.wire.trials import KINDS, MAX_PASSED, MAX_SEEN, Passed, Seen

_ENGINE = Path(__file__).parents[2]
_ENGINE_FILES = f"{_ENGINE}{os.sep}"


def own_file(filename: str, root: Path) -> str | None:
    """Returns a file's path below `root`; None elsewhere, and for packages and the engine.

    At home, packages and engine may lie below the student's own folder. A module that was found
    through a link, or through `tests/..`, counts as the same file.
    """
    try:
        if not Path(filename).is_absolute():  # "<string>" names no file
            return None
        path = Path(filename).resolve()
        if not path.is_relative_to(root):
            path = Path(os.path.normpath(filename))
        if path.is_relative_to(sys.prefix) or path.is_relative_to(_ENGINE):
            return None
        return path.relative_to(root).as_posix()
    except (ValueError, TypeError, OSError, RuntimeError):  # RuntimeError: a loop of links
        return None


_MOST_SOURCE_LINES = 6
# The most returns of a function at which its variables are looked at.
_MOST_LOOKS = 20


class OwnLines:
    """The frames of files below `root`, and their lines, up to the engine's call."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._places: dict[str, str] = {}
        self._lines: dict[tuple[str, int], Line] = {}

    def place(self, file: str) -> str:
        """Returns the path of a submission's file below its root; an empty text for others."""
        if file not in self._places:
            self._places[file] = own_file(file, self._root) or ""
        return self._places[file]

    def holds(self, file: str) -> bool:
        """Returns whether a file is the submission's."""
        return self.place(file) != ""

    def stack(self, frame: FrameType | None) -> tuple[Line, ...]:
        """Returns the submission's lines on a frame's stack, the frame's own last."""
        lines: list[Line] = []
        while frame is not None and len(lines) < MAX_DEPTH:
            file = frame.f_code.co_filename
            if self.holds(file):
                lines.append(self._line(file, frame.f_lineno or 0))
            elif lines and file.startswith(_ENGINE_FILES):
                break
            frame = frame.f_back
        return tuple(reversed(lines))

    def _line(self, file: str, number: int) -> Line:
        if (file, number) not in self._lines:
            self._lines[file, number] = Line(self.place(file), number, _source(file, number))
        return self._lines[file, number]


class Onlooker:
    """An observer of the submission's functions, those in files below `root`, in a call.

    Within its context, `_returned` is called with each value that such a function returns or
    yields, and with None if it raises.
    """

    _traces_lines = False

    def __init__(self, root: Path) -> None:
        self._lines = OwnLines(root)
        self._earlier: Any = None

    def __enter__(self) -> Self:
        self._earlier = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._earlier)

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if not self._lines.holds(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = self._traces_lines
        return self._went_on

    def _went_on(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "return":
            self._returned(frame, argument)
        return self._went_on

    def _returned(self, frame: FrameType, value: object) -> None:
        raise NotImplementedError


def _source(file: str, number: int) -> str:
    """Returns a line of a file, and those that follow it until its brackets are closed."""
    source = linecache.getline(file, number).strip()
    for following in range(number + 1, number + _MOST_SOURCE_LINES):
        if sum(map(source.count, "([{")) <= sum(map(source.count, ")]}")):
            break
        source = f"{source} {linecache.getline(file, following).strip()}"
    return source[:300]


class LineFollower(Onlooker):
    """An observer of a call: it notes the submission's lines that run, and its variables' kinds."""

    _traces_lines = True

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._noted: dict[str, dict[int, None]] = {}
        self._seen: dict[str, dict[tuple[int, str], str]] = {}
        self._looks = Counter[tuple[str, int]]()
        self._left, self._left_to_see = MAX_PASSED, MAX_SEEN

    @property
    def passed(self) -> tuple[Passed, ...]:
        """Returns the lines and the variables, by file below the submission's root."""
        return tuple(
            Passed(self._lines.place(file), tuple(sorted(lines)), tuple(self._seen_in(file)))
            for file, lines in self._noted.items()
            if lines
        )

    def _seen_in(self, file: str) -> Iterator[Seen]:
        for (function, name), kind in self._seen.get(file, {}).items():
            yield Seen(function, name, KINDS.index(kind))

    def _went_on(self, frame: FrameType, event: str, argument: object) -> Any:
        lines = self._noted.setdefault(frame.f_code.co_filename, {})
        line = frame.f_lineno
        if line is not None and line not in lines and self._left:
            self._left -= 1
            lines[line] = None
        return super()._went_on(frame, event, argument)

    def _returned(self, frame: FrameType, _value: object) -> None:
        """Notes the variables at the first returns of each function: a call has little time."""
        function = frame.f_code.co_filename, frame.f_code.co_firstlineno
        self._looks[function] += 1
        if self._looks[function] <= _MOST_LOOKS:
            with contextlib.suppress(Exception):  # objects may be anything
                self._see(frame)

    def _see(self, frame: FrameType) -> None:
        """Notes the first kind of each variable of a function, and of its object's attributes."""
        seen = self._seen.setdefault(frame.f_code.co_filename, {})
        held = dict(frame.f_locals)
        for name, value in _attributes_of(held.get("self")).items():
            held[f"self.{name}"] = value
        for name, value in held.items():
            key = frame.f_code.co_firstlineno, name
            if value is not None and key not in seen and self._left_to_see:
                self._left_to_see -= 1
                seen[key] = _kind(value)


def _attributes_of(one: object) -> dict[str, object]:
    """Returns the attributes of an object; a module of torch keeps some in tables."""
    try:
        own = dict(object.__getattribute__(one, "__dict__"))
    except AttributeError:
        return {}
    if issubclass(type(one), torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            own |= own.pop(table, {})
    return own


_MOST_ELEMENTS = 8
_BOOL, _INT, _FLOAT = bool | numpy.bool_, int | numpy.integer, float | numpy.floating


def _kind(value: Any) -> str:
    """Returns the kind of a value, by its type: `isinstance` would also trust its `__class__`."""
    own = type(value)
    if issubclass(own, torch.Tensor | numpy.ndarray):
        return "mask" if value.dtype in (torch.bool, numpy.bool_) else "tensor"
    for kind, types in (("bool", _BOOL), ("int", _INT), ("float", _FLOAT)):
        if issubclass(own, types):
            return kind
    if own in (tuple, list, torch.Size) and value:
        is_shape = all(type(one) is int for one in value[:_MOST_ELEMENTS])
        return "shape" if is_shape else "other"
    return "function" if callable(value) else "other"
