"""The lines of a submission's files that a call runs, counts of its work, and the workplace.

`LineCounter` shares its process with the submission. An audit hook, which cannot be removed,
notices code that stops the counting, even for a while. Code that alters the counter goes unnoticed.

The submission's folder is read-only, yet programs write logs and checkpoints beside themselves. The
working directory, the workplace, is therefore a copy of that folder in the scratch folder. Its
folders are real and its small files are copies; other files, including source, are links. Files
written there count as files in the scratch folder, and vanish with it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import linecache
import os
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures.thread import _WorkItem
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

import numpy
import torch
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _push_mode,
)

from grader.core.wire.calls import MAX_DEPTH, MOST_LINES
from grader.core.wire.records import Line
from grader.core.wire.trials import KINDS, MAX_PASSED, MAX_SEEN, Passed, Seen
from grader.worker.packages import Folders, Spec

# Methods of tensors after which the work goes on where torch's dispatcher does not see it: in
# numpy, in lists, in a function of Python for each number.
_LEAVING = ("numpy", "__array__", "__dlpack__", "tolist", "apply_", "map_", "map2_")


class WorkCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A counter of torch operations, and of the elements in the largest tensor they made.

    Threads that the call starts are counted as well. `elsewhere` is whether the call took values
    out of torch.
    """

    supports_higher_order_operators = True  # else torch refuses `torch.cond` under this mode

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.largest = 0
        self.elsewhere = False
        self._leaving = contextlib.ExitStack()

    def __enter__(self) -> Any:
        for name in _LEAVING:
            self._leaving.enter_context(_replaced(torch.Tensor, name, self._noting))
        # A mode holds for one thread. The threads of an executor may run already.
        for owner, name in ((threading.Thread, "_bootstrap_inner"), (_WorkItem, "run")):
            self._leaving.enter_context(_replaced(owner, name, self._within))
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self._leaving.close()

    def _noting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def noted(*args: Any, **kwargs: Any) -> Any:
            # Torch lists numbers to print them, too.
            if sys._getframe(1).f_globals is not vars(torch._tensor_str):
                self.elsewhere = True
            return method(*args, **kwargs)

        return noted

    def _within(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def counted(*args: Any) -> Any:
            if self in _get_current_dispatch_mode_stack():
                return run(*args)
            _push_mode(self)
            try:
                return run(*args)
            finally:
                _pop_mode()

        return counted

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tells torch not to hide this mode from its compiler: hiding costs more than counting."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):  # it calls functions outside of modes
            args = [self._within(one) if callable(one) else one for one in args]
        result = func(*args, **kwargs) if kwargs else func(*args)
        self.operations += 1
        if not getattr(func, "is_view", False):
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor):
                    self.largest = max(self.largest, tensor.numel())
        return result


@contextlib.contextmanager
def _replaced(owner: Any, name: str, replacement: Callable[[Any], Any]) -> Iterator[None]:
    """Replaces a class's attribute within the context, be it the class's own or inherited."""
    own = vars(owner).get(name)
    setattr(owner, name, replacement(getattr(owner, name)))
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


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


WORKPLACE = "submission"
# Programs rewrite or append to small files, mostly logs; larger ones are data.
_COPIED = 64 << 10  # bytes
_SOURCE = (".py", ".ipynb")


def make_workplace(root: Path, scratch: Path) -> Path:
    """Makes a writable copy of `root`; returns its folder.

    Returns `root` itself if the copy fails, as on a full disk.
    """
    place = scratch / WORKPLACE
    try:
        _fill(root, place)
    except (OSError, RecursionError):
        shutil.rmtree(place, ignore_errors=True)
        return root
    return place


def _fill(root: Path, place: Path) -> None:
    for folder, _, names in os.walk(root):
        into = place / Path(folder).relative_to(root)
        into.mkdir()
        for source in (Path(folder, name) for name in names):
            if source.suffix in _SOURCE or source.lstat().st_size > _COPIED:
                (into / source.name).symlink_to(source)
            else:
                shutil.copyfile(source, into / source.name)


class WorkplaceFinder(importlib.abc.MetaPathFinder):
    """A finder that takes modules from `root` where `sys.path` leads to the workplace."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place

    def find_spec(self, fullname: str, path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a module in `root`, if it would be found in the workplace."""
        entries = [one for one in (sys.path if path is None else path) if isinstance(one, str)]
        itself = [self._itself(entry) for entry in entries]
        if itself == entries:
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, itself)

    def _itself(self, entry: str) -> str:
        if entry.startswith(os.sep) and not entry.startswith(str(self._place)):
            return entry
        with contextlib.suppress(OSError, ValueError):
            absolute = os.path.normpath(Path(entry).absolute())
            return str(self._root / Path(absolute).relative_to(self._place))
        return entry


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


# Audit events that leave lines uncounted, with the only function that may cause each, if any.
_UNCOUNTED: dict[str, CodeType | None] = {
    "sys.settrace": threading.Thread._bootstrap_inner.__code__,  # type: ignore[attr-defined]
    "_thread.start_new_thread": threading.Thread.start.__code__,
    "cpython.PyInterpreterState_New": None,
}


class LineCounter:
    """An observer of a call: it counts the lines that run, including those of libraries.

    A line counts each time it runs; functions written in C add nothing to the line that calls them.
    Every file counts, because code can claim to be of any file. The count is `MOST_LINES` if
    something stops the counting.
    """

    def __init__(self) -> None:
        self.lines = 0
        # The frames that were called or resumed, and have not returned or yielded since.
        self._open: dict[FrameType, None] = {}
        self._is_blind = False
        # Each access of a bound method makes another object.
        self._trace, self._goes_on = self._called, self._local_trace
        self._earlier: tuple[Any, Any] = None, None

    def __enter__(self) -> LineCounter:
        self._earlier = sys.gettrace(), threading.gettrace()
        threading.settrace(self._trace)
        stops = _stops()
        sys.settrace(self._trace)
        stops.number = 0
        return self

    def __exit__(self, *_: object) -> None:
        traces = sys.gettrace(), threading.gettrace()
        stops = _stops().number
        sys.settrace(self._earlier[0])
        threading.settrace(self._earlier[1])
        is_whole = traces == (self._trace, self._trace) and not stops
        if not is_whole or self._is_blind or self._has_lost_frames():
            self.lines = MOST_LINES

    def _has_lost_frames(self) -> bool:
        """Returns whether an open frame has ended or goes on without being counted."""
        open_before, running = set(self._open), set[FrameType]()
        for frame in sys._current_frames().values():
            inner: FrameType | None = frame
            while inner is not None:
                if inner.f_trace == self._goes_on:
                    running.add(inner)
                inner = inner.f_back
        # Other threads go on meanwhile.
        return bool(open_before & self._open.keys() - running)

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        # Calling a function here would stop the counting, near the limit of recursion.
        # Code that names these attributes may stop the counting of a frame for a while.
        names = frame.f_code.co_names
        self._is_blind |= frame in self._open or "f_trace" in names or "f_trace_lines" in names
        self._open[frame] = None
        return self._goes_on

    def _local_trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines >= MOST_LINES:
                # The rest of the call runs at full speed.
                sys.settrace(None)
        elif event == "return" and frame in self._open:
            del self._open[frame]
        self._is_blind |= not frame.f_trace_lines
        return self._goes_on


class _Stops:
    """The number of events that leave lines uncounted."""

    number = 0

    def hear(self, event: str, _details: object) -> None:
        """Counts an audit event if it leaves lines uncounted."""
        if event in _UNCOUNTED and sys._getframe(1).f_code is not _UNCOUNTED[event]:
            self.number += 1


@functools.cache
def _stops() -> _Stops:
    """Returns the count of events that leave lines uncounted; its audit hook is never removed."""
    stops = _Stops()
    sys.addaudithook(stops.hear)
    return stops
