"""The lines of a submission's own files that a call passes, and the work that it counts in them.

The counter shares its process with the submission. An audit hook, which nobody can remove, notices
who stops the counting, even for a while. A counter that somebody takes apart goes unnoticed.

The submission's folder itself is read only, and yet programs write logs and checkpoints beside
themselves. The working directory is therefore a likeness of it in the scratch folder: its folders
are real ones, its small files copies, and the others, source among them, links to what was handed
in. What is written there counts as what is written to the scratch folder, and vanishes with it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import inspect
import linecache
import os
import shutil
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.core.wire.calls import MOST_LINES
from grader.core.wire.records import MAX_DEPTH, Line
from grader.core.wire.trials import MAX_PASSED, Passed


class WorkCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts torch operations and remembers the size of the largest tensor that one made."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.largest = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tells torch not to hide this mode from its compiler: hiding costs more than counting."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the signature is torch's
        result = func(*args, **kwargs) if kwargs else func(*args)
        self.operations += 1
        if not func.is_view:
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor):
                    self.largest = max(self.largest, tensor.numel())
        return result


_ENGINE = Path(__file__).parents[2]


def own_file(filename: str, root: Path) -> str | None:
    """Returns a file's path below `root`.

    Returns None elsewhere, for installed packages and for the engine.

    At home both of these may lie below the student's own folder. A module that was found by way of
    a link, or of `tests/..`, is the same file.
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
    except (ValueError, TypeError):
        return None


WORKPLACE = "submission"
# Of a larger folder the rest is linked as a whole, and can only be read.
_ENTRIES = 1000
# What may be written again or added to is mostly a log; data is read.
_COPIED, _COPIED_IN_ALL = 64 << 10, 4 << 20
_SOURCE = (".py", ".ipynb")


def make_workplace(root: Path, scratch: Path) -> Path:
    """Returns a likeness of `root` in which can be written.

    `root` itself, if there is no room for one.
    """
    place = scratch / WORKPLACE
    try:
        _fill(root, place)
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        return root
    return place


def _fill(root: Path, place: Path) -> None:
    place.mkdir()
    entries, room = _ENTRIES, _COPIED_IN_ALL
    left = deque([(root, place)])
    while left:
        folder, into = left.popleft()
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda one: one.name):
                entries -= 1
                target = into / entry.name
                if entries > 0 and entry.is_dir(follow_symlinks=False):
                    target.mkdir()
                    left.append((Path(entry.path), target))
                elif entries > 0 and (size := _size_to_copy(entry)) is not None and size <= room:
                    room -= size
                    shutil.copyfile(entry.path, target)
                elif entries > -_ENTRIES:
                    target.symlink_to(entry.path)


def _size_to_copy(entry: os.DirEntry[str]) -> int | None:
    """Returns the size of a file that is copied; None for one that is linked."""
    if entry.name.endswith(_SOURCE) or not entry.is_file(follow_symlinks=False):
        return None
    size = entry.stat(follow_symlinks=False).st_size
    return size if size <= _COPIED else None


class OfWhatWasHandedIn(importlib.abc.MetaPathFinder):
    """Has modules come from the folder itself where `sys.path` leads to the workplace."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of a module in `root`, if it would be found in the workplace."""
        entries = [one for one in (sys.path if path is None else path) if isinstance(one, str)]
        itself = [self._itself(entry) for entry in entries]
        if itself == entries:
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, itself, target)

    def _itself(self, entry: str) -> str:
        if entry.startswith(os.sep) and not entry.startswith(str(self._place)):
            return entry
        with contextlib.suppress(OSError, ValueError):
            absolute = os.path.normpath(Path(entry).absolute())
            return str(self._root / Path(absolute).relative_to(self._place))
        return entry


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
        """Returns whether a file is the submission's."""
        return file.startswith(self._root) and not file.startswith((self._packages, self._engine))

    def stack(self, frame: FrameType | None, number: int = 0) -> tuple[Line, ...]:
        """Returns the submission's lines behind a frame, its own (or line `number`) last."""
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
        """Returns where a file of the submission's lies below its root."""
        return os.path.normpath(file)[len(self._root) :].replace(os.sep, "/")


def _source(file: str, number: int) -> str:
    """Returns a line of a file, and those that follow it until its brackets are closed."""
    source = linecache.getline(file, number).strip()
    for following in range(number + 1, number + _MOST_LINES):
        if sum(map(source.count, "([{")) <= sum(map(source.count, ")]}")):
            break
        source = f"{source} {linecache.getline(file, following).strip()}"
    return source[:300]


class LineFollower(Onlooker):
    """Looks on at a call: the lines of the submission's files that are begun, in any order."""

    def __init__(self, root: Path) -> None:
        self._lines = OwnLines(root)
        self._noted: dict[str, dict[int, None]] = {}
        self._left = MAX_PASSED

    @property
    def passed(self) -> tuple[Passed, ...]:
        """Returns the lines, by file below the submission's root."""
        return tuple(
            Passed(self._lines.place(file), tuple(sorted(lines)))
            for file, lines in self._noted.items()
        )

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if not self._lines.holds(frame.f_code.co_filename):
            return None
        lines = self._noted.setdefault(frame.f_code.co_filename, {})

        def went_on(frame: FrameType, _event: str, _argument: object) -> Any:
            line = frame.f_lineno
            if line is not None and line not in lines and self._left:
                self._left -= 1
                lines[line] = None
            return went_on

        return went_on


# Events that leave something uncounted, with the only function that may cause them.
_UNCOUNTED: dict[str, CodeType | None] = {
    "sys.settrace": threading.Thread._bootstrap_inner.__code__,  # type: ignore[attr-defined]
    "_thread.start_new_thread": threading.Thread.start.__code__,
    "cpython.PyInterpreterState_New": None,
}
_PAUSES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class LineCounter:
    """Looks on at a call: how many lines it executes, those of libraries among them.

    A line that is executed again counts again; one that calls functions written in C counts once,
    whatever these do. Every file counts, for code can claim to be of any file. The count is
    `MOST_LINES` if something stops the counting.
    """

    def __init__(self) -> None:
        self.lines = 0
        self._open = 0
        self._is_blind = False
        # Each access of a bound method makes another object.
        self._trace, self._goes_on = self._called, self._went_on
        self._trace_of_threads, self._thread_goes_on = self._called_in_thread, self._counted
        self._earlier: tuple[Any, Any] = None, None

    def __enter__(self) -> LineCounter:
        self._earlier = sys.gettrace(), threading.gettrace()
        threading.settrace(self._trace_of_threads)
        stops = _stops()
        sys.settrace(self._trace)
        stops.number = 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        traces = sys.gettrace(), threading.gettrace()
        stops = _stops().number
        sys.settrace(self._earlier[0])
        threading.settrace(self._earlier[1])
        is_whole = traces == (self._trace, self._trace_of_threads) and not stops
        if not is_whole or self._is_blind or self._open != self._running(sys._getframe()):
            self.lines = MOST_LINES

    def _running(self, frame: FrameType | None) -> int:
        """Counts the functions that were called under the counter and have not returned."""
        found = 0
        while frame is not None:
            found += frame.f_trace == self._goes_on and not frame.f_code.co_flags & _PAUSES
            frame = frame.f_back
        return found

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        # Whatever pauses may end without being called.
        self._open += not frame.f_code.co_flags & _PAUSES
        return self._goes_on

    def _called_in_thread(self, _frame: FrameType, _event: str, _argument: object) -> Any:
        return self._thread_goes_on

    def _went_on(self, frame: FrameType, event: str, _argument: object) -> Any:
        self._counted(frame, event, _argument)
        if event == "return":
            self._open -= not frame.f_code.co_flags & _PAUSES
        return self._goes_on

    def _counted(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines >= MOST_LINES:
                # The rest goes on at full speed.
                sys.settrace(None)
        self._is_blind |= not frame.f_trace_lines
        return self._thread_goes_on


class _Stops:
    """How often something was done that leaves lines uncounted."""

    number = 0

    def hear(self, event: str, _details: object) -> None:
        """Hears of everything that Python audits."""
        if event in _UNCOUNTED and sys._getframe(1).f_code is not _UNCOUNTED[event]:
            self.number += 1


@functools.cache
def _stops() -> _Stops:
    """Returns what hears of stops in this process, from the first counter on."""
    stops = _Stops()
    sys.addaudithook(stops.hear)
    return stops
