"""The time until when explanations are looked for, and the line at which a call hangs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from grader.core.text import plain
from grader.core.wire.records import Line

Thing = TypeVar("Thing")


class TooLate(Exception):
    """The deadline passed in the middle of something; what was found before still holds."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock, and one on the wall; whoever works for long looks at it between steps.

    The clock may stand still while the machine is busy; the moment on the wall is a net for that.
    """

    at: float
    clock: Callable[[], float] = time.monotonic
    net: float = math.inf

    @classmethod
    def after(
        cls, seconds: float, clock: Callable[[], float] = time.monotonic, wall: float = math.inf
    ) -> Deadline:
        """Returns the moment that many seconds from now on a clock, or `wall` on the wall."""
        return cls(clock() + seconds, clock, time.monotonic() + wall)

    @property
    def passed(self) -> bool:
        """Returns whether it is time to say what was found so far."""
        return self.clock() >= self.at or time.monotonic() >= self.net

    def each(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """Yields each thing in turn.

        Raises:
            TooLate: in the place of the next one, once the deadline has passed.
        """
        for thing in things:
            if self.passed:
                raise TooLate
            yield thing


NEVER = Deadline(math.inf)


_ADVICE = "Does it end at all? Look at what the loops and calls around this line wait for."


def still_running(seconds: float, line: Line, is_known: bool) -> str:
    """Returns the words that a call was at a line after some seconds, as before if `is_known`."""
    told = f"{round(seconds, 0 if seconds > 1 else 1):g}"
    again = ", as before" if is_known else ""
    return f"after {told} s still running {plain(line.file)}:{line.line}{again}"


def what_runs(line: Line) -> Iterator[str]:
    """Yields the line as it stands in its file, and what to ask of it."""
    yield f"    {plain(line.source)}"
    yield _ADVICE
