"""How long a worker took, and how much of it was its own doing."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds: on the wall, of the processors, and in which this machine had none to spare."""

    wall: float
    processor: float
    waiting: float

    @property
    def own(self) -> float:
        """What is the worker's own doing: it computed, or did nothing though it could have."""
        return max(self.processor, self.wall - self.waiting)


class Clock:
    """Tells what a process took since the last start; who asks must not be late either.

    On another system than Linux, all time is taken for the process's own.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._last = 0.0
        self.start()

    def start(self) -> None:
        """From now on."""
        self._wall = time.monotonic()
        self._processor = self._seconds_of_processors()
        self._waiting = self._seconds_of_waiting()

    def taken(self) -> Taken:
        """Since the start; of a process that has ended, what was known of it before."""
        return Taken(
            time.monotonic() - self._wall,
            self._seconds_of_processors() - self._processor,
            self._seconds_of_waiting() - self._waiting,
        )

    def _seconds_of_processors(self) -> float:
        """All threads' time, by the clock that the kernel keeps of it (clock_getcpuclockid(3))."""
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                self._last = time.clock_gettime((~self._pid << 3) | 2)
            return self._last
        return time.monotonic()

    def _seconds_of_waiting(self) -> float:
        """How long the process and who asks were ready to run, while others did."""
        return _delayed(f"/proc/{self._pid}/schedstat") + _delayed("/proc/thread-self/schedstat")


def _delayed(file: str) -> float:
    """The seconds in which a thread was ready and had no processor; 0 where nobody tells."""
    try:
        return int(Path(file).read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
