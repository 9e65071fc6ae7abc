"""How long a worker took, and how much of it was its own doing."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass

# What takes no longer is not worth asking the kernel about.
_SHORT = 0.05


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds: on the wall, of the processors, and in which this machine had none to spare."""

    wall: float = 0.0
    processor: float = 0.0
    waiting: float = 0.0

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
        self._processor = 0.0
        self._delays = [_opened(f"/proc/{pid}/schedstat"), _opened("/proc/thread-self/schedstat")]
        self.start()

    def start(self) -> None:
        """From now on."""
        self._started = time.monotonic()
        self._processor_before = self._seconds_of_processors()
        self._waiting_before = self._seconds_of_waiting()

    def taken(self) -> Taken:
        """Since the start; of a process that has ended, what was known of it before."""
        wall = time.monotonic() - self._started
        if wall < _SHORT:
            return Taken(wall)
        return Taken(
            wall,
            self._seconds_of_processors() - self._processor_before,
            self._seconds_of_waiting() - self._waiting_before,
        )

    def close(self) -> None:
        """No more is asked."""
        for descriptor in self._delays:
            if descriptor >= 0:
                os.close(descriptor)
        self._delays = []

    def _seconds_of_processors(self) -> float:
        """All threads' time, by the clock that the kernel keeps of it (clock_getcpuclockid(3))."""
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                self._processor = time.clock_gettime((~self._pid << 3) | 2)
        return self._processor

    def _seconds_of_waiting(self) -> float:
        """How long the process and who asks were ready to run, while others did."""
        return sum(map(_delayed, self._delays))


def _opened(file: str) -> int:
    """A descriptor for reading; -1 where there is no such file."""
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _delayed(descriptor: int) -> float:
    """The seconds in which a thread was ready and had no processor; 0 where nobody tells."""
    try:
        return int(os.pread(descriptor, 100, 0).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
