"""The time limit on calls of a student's functions, which names the line that was running."""

from __future__ import annotations

import inspect
import linecache
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar, cast

from grader.core.verdict import Status, Where
from grader.core.wire.records import Line
from grader.explain.deadline import still_running, what_runs
from grader.testing.outcome import StudentFault
from grader.worker.observing.lines import OwnLines
from grader.worker.trials.alarm import ringing

# The limit for a function that hung before.
_AGAIN_SECONDS = 1.0
_DEBUGGERS = ("pydevd", "bdb", "pdb")

# The nanoseconds that a thread ran, then those that it waited for a processor (Linux).
_WAITED = Path("/proc/thread-self/schedstat")

Result = TypeVar("Result")


def own_time() -> float:
    """Returns wall time in seconds without the time that this thread waited for a processor."""
    try:
        waited = int(_WAITED.read_bytes().split()[1])
    except (OSError, IndexError, ValueError):
        waited = 0
    return time.monotonic() - waited / 1e9


class TimeLimitExceeded(BaseException):
    """A call takes too long."""


@dataclass(slots=True)
class _Running:
    """A running call; `place` is its line when it was ended, `is_known` if that hung before."""

    began: float
    place: Line | None = None
    is_known: bool = False
    took: float = 0.0
    modules: int = 0


class Limit:
    """A time limit of `seconds` on each call (0: none), which raises in a call that exceeds it.

    A function that hung gets less time in its next call. If the limit `heeds_debuggers`, a call
    under a debugger has none. If it `spares_imports`, time in which modules are imported does not
    count: torch imports hundreds for the first optimizer.
    """

    def __init__(
        self,
        seconds: float,
        root: Path,
        heeds_debuggers: bool = False,
        spares_imports: bool = False,
    ) -> None:
        self._seconds = seconds
        self._lines = OwnLines(root)
        self._heeds_debuggers = heeds_debuggers
        self._spares_imports = spares_imports
        self._hung: dict[CodeType, Line] = {}
        self._running: _Running | None = None

    def call(self, make: Callable[[], Result]) -> Result:
        """Returns the result of a call.

        Raises:
            StudentFault: if it took too long.
        """
        if not self._is_kept:
            return make()
        running = _Running(own_time(), modules=len(sys.modules))
        self._running = running
        first = min(_AGAIN_SECONDS, self._seconds) if self._hung else self._seconds
        result: Result | None = None
        try:
            with ringing(self._ring, signal.default_int_handler, first):
                result = make()
        except TimeLimitExceeded:
            pass
        finally:
            self._running = None
        if running.place is not None:
            raise _fault(running)
        return cast(Result, result)

    @property
    def _is_kept(self) -> bool:
        is_main = threading.current_thread() is threading.main_thread()
        return bool(self._seconds) and is_main

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        running = self._running
        own = self._own_frames(frame)
        if running is None or not own:
            return
        if self._heeds_debuggers and is_debugged():
            self._running = None
            return
        if self._spares_imports and len(sys.modules) > running.modules:
            running.began, running.modules = own_time(), len(sys.modules)
        took = own_time() - running.began
        if took < self._allowed(own):
            return
        if running.place is None:
            running.took = took
            # Some instructions belong to no line.
            told = next((one for one in own if one.f_lineno), own[0])
            running.is_known = told.f_code in self._hung
            running.place = self._place(told)
        raise TimeLimitExceeded

    def _allowed(self, frames: Iterable[FrameType]) -> float:
        """Returns the seconds that a call in these functions may take."""
        hung = any(frame.f_code in self._hung for frame in frames)
        return min(self._seconds, _AGAIN_SECONDS) if hung else self._seconds

    def _place(self, frame: FrameType) -> Line:
        """Returns the line where a function hangs; in a longer loop, the first one seen."""
        file, line = frame.f_code.co_filename, frame.f_lineno or 0
        source = linecache.getline(file, line).strip()
        return self._hung.setdefault(frame.f_code, Line(self._lines.place(file), line, source))

    def _own_frames(self, frame: FrameType | None) -> list[FrameType]:
        """Returns the frames of the student's files in the call, innermost first."""
        found: list[FrameType] = []
        while frame is not None and frame.f_code is not Limit.call.__code__:
            if self._lines.holds(frame.f_code.co_filename):
                found.append(frame)
            frame = frame.f_back
        return [] if frame is None else found


def is_debugged() -> bool:
    """Returns whether a debugger follows this thread; a coverage tracer does not count."""
    trace = sys.gettrace()
    tracer = inspect.getmodule(trace) or inspect.getmodule(type(trace)) if trace else None
    parts = tracer.__name__.split(".") if tracer else []
    # From Python 3.12 on debuggers register themselves.
    monitoring = getattr(sys, "monitoring", None)
    registered = monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID)
    return bool(registered) or any(part.lstrip("_").startswith(_DEBUGGERS) for part in parts)


def _fault(running: _Running) -> StudentFault:
    assert running.place is not None
    said = still_running(running.took, running.place, running.is_known)
    return StudentFault(
        Status.TIMEOUT,
        "\n".join([said, *what_runs(running.place)]),
        Where(running.place.file, running.place.line),
    )
