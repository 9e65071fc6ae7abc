"""Counts of a call's work: torch operations, elements, and lines that run.

`LineCounter` shares its process with the submission. An audit hook, which cannot be removed,
notices code that stops the counting, even for a while. Code that alters the counter goes unnoticed.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures.thread import _WorkItem
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _push_mode,
)

from grader.core.wire.calls import MOST_LINES

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
