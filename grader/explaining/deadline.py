"""Until when something may be looked for."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock, by default one that never comes."""

    moment: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self.moment


NEVER = Deadline()
