"""The time that one worker takes and may take."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

# Seconds. Shorter times are not worth asking the kernel about.
_SHORT = 0.05


# Each second of the judge costs the submission this many seconds. The judge thus computes for at
# most a quarter of the submission's limit, plus the one answer that exceeds it.
PRICE_OF_JUDGE = 4.0


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds by the clock, seconds of processor time, and seconds of waiting for a processor."""

    wall: float = 0.0
    processor: float = 0.0
    waiting: float = 0.0

    @property
    def own(self) -> float:
        """Returns the seconds in which the worker computed, or idled with a processor free."""
        return max(self.processor, self.wall - self.waiting)

    def with_reading(self, seconds: float) -> Taken:
        """Adds the price of the seconds that this process took to read the answer."""
        price = PRICE_OF_JUDGE * seconds
        return Taken(self.wall + seconds, self.own + price, self.waiting)


class Clock:
    """A clock for the time that a process takes to answer; between requests it is idle.

    Outside Linux, all time counts as the process's own.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._its_statistics = _opened(f"/proc/{pid}/schedstat")
        self._own_statistics = _opened("/proc/thread-self/schedstat")
        # The kernel's last numbers for the process, and the time of short answers since then.
        self._processor = self._delay = self._unmeasured = 0.0
        self._processor, self._delay = self._measured()
        self.start()

    def start(self) -> None:
        """Starts the measurement."""
        self._own_delay_before = _delayed(self._own_statistics)
        self._started = time.monotonic()

    def leave_out(self, seconds: float) -> None:
        """Leaves out seconds since the start in which this process was stopped."""
        self._started += seconds

    def stop(self) -> Taken:
        """Ends the measurement and returns the time taken since the start."""
        taken = self.taken()
        if taken.wall < _SHORT:
            self._unmeasured += taken.wall
        else:
            self._processor, self._delay = self._measured()
            self._unmeasured = 0.0
        return taken

    def taken(self) -> Taken:
        """Returns the time taken from the start until now."""
        wall = time.monotonic() - self._started
        if wall < _SHORT:
            return Taken(wall, wall)
        processor, delay = self._measured()
        own_delay = _delayed(self._own_statistics) - self._own_delay_before
        return Taken(
            wall,
            max(processor - self._processor - self._unmeasured, 0.0),
            min(delay - self._delay + own_delay, wall),
        )

    def close(self) -> None:
        """Closes the kernel's files that it reads."""
        for descriptor in (self._its_statistics, self._own_statistics):
            if descriptor >= 0:
                os.close(descriptor)
        self._its_statistics = self._own_statistics = -1

    def _measured(self) -> tuple[float, float]:
        """Returns the process's seconds on all processors, and those in which it waited for one.

        The processor time comes from the process's clock in the kernel (clock_getcpuclockid(3)). If
        the process has ended, the last known times are returned.
        """
        if sys.platform == "linux":
            try:
                return time.clock_gettime((~self._pid << 3) | 2), _delayed(self._its_statistics)
            except OSError:
                return self._processor, self._delay
        return 0.0, 0.0


def _opened(file: str) -> int:
    """Returns a descriptor for reading; -1 where there is no such file."""
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _delayed(descriptor: int) -> float:
    """Returns the seconds in which a thread was ready and had no processor; 0 if unknown."""
    try:
        return int(os.pread(descriptor, 100, 0).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker is waited for, in seconds.

    `own` counts the time that the worker takes by itself, computing in any number of threads or
    idle. `wall` bounds the time on the wall, in case the machine is busy.
    """

    own: float
    wall: float

    def check(self, taken: Taken) -> None:
        """Compares the time taken with the limits.

        Raises:
            Late: if one is exceeded; the text says which.
        """
        if taken.processor > self.own:
            raise Late(f"{self.own:.3g} seconds of processor time")
        if taken.own > self.own:
            raise Late(f"{self.own:.3g} seconds")
        if taken.wall > self.wall:
            raise Late(f"{self.wall:.3g} seconds by the clock")


class Exceeded(Exception):
    """A worker used more than it may; the text names the limit."""


class Late(Exception):
    """A worker did not answer in time; the text says how long it had."""
