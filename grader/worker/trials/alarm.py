"""Ends calls that take too long, by an exception in them.

Processor time counts, so that a busy machine makes no call too long.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

# The alarm rings again, in case the call ignores it or has had no processor yet.
_AGAIN_SECONDS = 0.05
# A call that idles may take this many times as long.
_WAITING = 4
_HAS_TIMERS = hasattr(signal, "setitimer")
# Without timers, a thread simulates a signal that no process sends.
_SIGNAL = signal.SIGALRM if _HAS_TIMERS else signal.SIGTERM

_OURS = f"{Path(__file__).parent}{os.sep}"


Handler = Callable[[int, FrameType | None], None]


class TooLong(BaseException):
    """A call takes too long."""


@contextlib.contextmanager
def ringing(ring: Handler, interrupt: Handler, seconds: float = 0.0) -> Iterator[None]:
    """Calls `ring` in the main thread after `seconds` (0: not yet), and then again and again.

    Calls `interrupt` at Ctrl-C, unless something else handles that. Restores signals and timer.
    Where there are no timers, it may ring earlier.
    """
    with contextlib.ExitStack() as undone:
        undone.callback(signal.signal, _SIGNAL, signal.signal(_SIGNAL, ring))
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            undone.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, interrupt))
        if _HAS_TIMERS:
            began = time.monotonic()
            left, again = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
            undone.callback(_wind_up, left, again, began)
        else:
            ended = threading.Event()
            undone.callback(ended.set)
            threading.Thread(target=_knock, args=[ended], daemon=True).start()
        yield


def _wind_up(left: float, again: float, began: float) -> None:
    """Restores the timer that was running before, less the time since."""
    if left:
        left = max(left - (time.monotonic() - began), _AGAIN_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, left, again)


def _knock(ended: threading.Event) -> None:
    while not ended.wait(_AGAIN_SECONDS):
        _thread.interrupt_main(_SIGNAL)


class Alarm:
    """An alarm that raises in the main thread, while it is held, after the time that was set.

    A call that idles may take `waiting` times as long. The called code may swallow any exception,
    even that of Ctrl-C: `go_on` raises it again.
    """

    def __init__(self, waiting: float = _WAITING) -> None:
        self._waiting = waiting
        self._over: tuple[float, float] | None = None
        self._seconds = 0.0
        self._modules = 0
        self._interrupted = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lets the alarm raise within the context."""
        self._interrupted = False
        with ringing(self._ring, self._interrupt):
            try:
                yield
            finally:
                self.set(0)

    def set(self, seconds: float) -> None:
        """Sets the alarm to ring repeatedly after `seconds` of processor time; 0 switches it off.

        Time in which modules are imported does not count: an import that is ended early would leave
        half a module.
        """
        self._begin(seconds)
        if _HAS_TIMERS:
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS if seconds else 0)

    def _begin(self, seconds: float) -> None:
        self._over = None
        if seconds:
            wall = time.monotonic() + self._waiting * seconds
            self._over = time.process_time() + seconds, wall
        self._seconds, self._modules = seconds, len(sys.modules)

    def go_on(self) -> None:
        """Passes Ctrl-C on, if it was pressed.

        Raises:
            KeyboardInterrupt: if Ctrl-C was pressed, even if the called code swallowed it.
        """
        if self._interrupted:
            raise KeyboardInterrupt

    @property
    def _is_due(self) -> bool:
        over = self._over
        return over is not None and (time.process_time() >= over[0] or time.monotonic() >= over[1])

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        if self._is_due and len(sys.modules) > self._modules:
            self._begin(self._seconds)
        elif self._is_due and not _is_ours(frame):
            raise TooLong

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        if not _is_ours(frame):
            raise KeyboardInterrupt


def _is_ours(frame: FrameType | None) -> bool:
    """Returns whether a signal met the code around a call, which must restore the state.

    Python checks for signals where a function begins, often the one that follows the call.
    """
    return frame is None or frame.f_code.co_filename.startswith(_OURS)
