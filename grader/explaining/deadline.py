"""Until when words are looked for: what was found by then is said, the rest is left unsaid."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Thing = TypeVar("Thing")


class TooLate(Exception):
    """The deadline passed in the middle of something; what was found before still holds."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock; whoever works for long looks at it between two steps."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def passed(self) -> bool:
        """Whether it is time to say what was found so far."""
        return time.monotonic() >= self.at

    def each(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """One thing after another.

        Raises:
            TooLate: in the place of the next one, once the deadline has passed.
        """
        for thing in things:
            if self.passed:
                raise TooLate
            yield thing


NEVER = Deadline(math.inf)
