"""Until when words are looked for: what was found by then is said, the rest is left unsaid."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


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


NEVER = Deadline(math.inf)
