"""Ends calls that take too long, by an exception in them."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

# It rings again, should what is called take no notice.
_AGAIN_SECONDS = 0.05
_HAS_TIMERS = hasattr(signal, "setitimer")
# Where there are none, a thread says that a signal has come which nobody sends.
_SIGNAL = signal.SIGALRM if _HAS_TIMERS else signal.SIGTERM


class TooLong(BaseException):
    """A call takes too long."""


class Alarm:
    """Raises in the main thread, while it is held, once it was set.

    What is called may take any exception for its own, that of Ctrl-C as well: `go_on` raises it
    again.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._interrupted = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Has the alarm raise where it rings."""
        self._interrupted = False
        with contextlib.ExitStack() as undone:
            earlier = signal.signal(_SIGNAL, self._ring)
            undone.callback(signal.signal, _SIGNAL, earlier)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._interrupt)
                undone.callback(signal.signal, signal.SIGINT, signal.default_int_handler)
            if not _HAS_TIMERS:
                ended = threading.Event()
                undone.callback(ended.set)
                threading.Thread(target=self._watch, args=[ended], daemon=True).start()
            undone.callback(self.set, 0)
            yield

    def set(self, seconds: float) -> None:
        """Rings after so many seconds, and again; after none, no more."""
        self._at = time.monotonic() + seconds if seconds else 0.0
        if _HAS_TIMERS:
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS if seconds else 0)

    def go_on(self) -> None:
        """Does nothing.

        Raises:
            KeyboardInterrupt: if Ctrl-C was pressed, whatever became of that.
        """
        if self._interrupted:
            raise KeyboardInterrupt

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(_AGAIN_SECONDS):
            if self._is_due:
                _thread.interrupt_main(_SIGNAL)

    @property
    def _is_due(self) -> bool:
        at = self._at
        return bool(at) and time.monotonic() >= at

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        # Late, it would end what comes after the call.
        if self._is_due:
            raise TooLong

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt
