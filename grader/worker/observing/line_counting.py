"""Counts the work of plain Python: the lines that a call executes, and never a clock.

The counter shares its process with the submission. An audit hook, which nobody can remove, notices
who stops the counting, even for a while. A counter that somebody takes apart goes unnoticed.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any

from grader.core.wire.calls import MOST_LINES

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
