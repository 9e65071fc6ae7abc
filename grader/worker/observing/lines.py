"""The lines of the submission that a running frame stands in, and how to look on at them."""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from grader.core.wire.records import MAX_DEPTH, Line

_MOST_LINES = 6


class Onlooker:
    """Looks on while it is held: `_called` is Python's trace function then."""

    _earlier: Any = None

    def __enter__(self) -> Self:
        self._earlier = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        sys.settrace(self._earlier)

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        raise NotImplementedError


class OwnLines:
    """Tells which frames are of files below `root`, and their lines, up to the engine's call."""

    def __init__(self, root: Path) -> None:
        self._lines: dict[tuple[str, int], Line] = {}
        self._root = f"{root}{os.sep}"
        # At home both may lie below the student's own folder.
        self._packages = f"{sys.prefix}{os.sep}"
        self._engine = f"{Path(__file__).parents[2]}{os.sep}"

    def holds(self, file: str) -> bool:
        """Whether a file is the submission's."""
        return file.startswith(self._root) and not file.startswith((self._packages, self._engine))

    def stack(self, frame: FrameType | None, number: int = 0) -> tuple[Line, ...]:
        """The submission's lines behind a frame, its own last, at line `number` if that is told."""
        lines: list[Line] = []
        while frame is not None and len(lines) < MAX_DEPTH:
            file = frame.f_code.co_filename
            if self.holds(file):
                lines.append(self._line(file, number or frame.f_lineno or 0))
            elif lines and file.startswith(self._engine):
                break
            frame, number = frame.f_back, 0
        return tuple(reversed(lines))

    def _line(self, file: str, number: int) -> Line:
        if (file, number) not in self._lines:
            self._lines[file, number] = Line(self.place(file), number, _source(file, number))
        return self._lines[file, number]

    def place(self, file: str) -> str:
        """Where a file of the submission's lies below its root."""
        return os.path.normpath(file)[len(self._root) :].replace(os.sep, "/")


def _source(file: str, number: int) -> str:
    """A line of a file, and those that follow it until its brackets are closed."""
    source = linecache.getline(file, number).strip()
    for following in range(number + 1, number + _MOST_LINES):
        if sum(map(source.count, "([{")) <= sum(map(source.count, ")]}")):
            break
        source = f"{source} {linecache.getline(file, following).strip()}"
    return source[:300]
