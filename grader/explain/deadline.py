"""Deadlines of explanations, and the words for a call that hangs at a line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from grader.core.text import plain
from grader.core.wire.records import Line

Thing = TypeVar("Thing")


class TooLate(Exception):
    """The deadline passed; results from before it are still valid."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock, and a later one of wall time. Long work checks it between its steps.

    The clock may stand still while the machine is busy; the wall time in `net` bounds that.
    """

    at: float
    clock: Callable[[], float] = time.monotonic
    net: float = math.inf

    @classmethod
    def after(
        cls, seconds: float, clock: Callable[[], float] = time.monotonic, wall: float = math.inf
    ) -> Deadline:
        """Returns the deadline after some seconds on a clock, or `wall` seconds of wall time."""
        return cls(clock() + seconds, clock, time.monotonic() + wall)

    @property
    def left(self) -> float:
        """Returns the seconds until the deadline; 0 or less after it."""
        return min(self.at - self.clock(), self.net - time.monotonic())

    @property
    def passed(self) -> bool:
        """Returns whether the deadline is over."""
        return self.left <= 0

    def part(self, among: int) -> Deadline:
        """Returns the earlier deadline that divides the time left evenly `among` several."""
        return replace(self, at=self.clock() + self.left / among)

    def each(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """Yields each thing in turn.

        Raises:
            TooLate: instead of the next thing, once the deadline has passed.
        """
        for thing in things:
            if self.passed:
                raise TooLate
            yield thing


NEVER = Deadline(math.inf)


_ADVICE = "Does it end at all? Look at what the loops and calls around this line wait for."


def still_running(seconds: float, line: Line, is_known: bool) -> str:
    """Returns the words for a call that still runs a line after some seconds.

    With `is_known`, the words add that an earlier call hung there too.
    """
    told = f"{round(seconds, 0 if seconds > 1 else 1):g}"
    again = ", as before" if is_known else ""
    return f"after {told} s still running {plain(line.file)}:{line.line}{again}"


def what_runs(line: Line) -> Iterator[str]:
    """Yields the source of the line, and advice on how to find out why it hangs."""
    yield f"    {plain(line.source)}"
    yield _ADVICE
