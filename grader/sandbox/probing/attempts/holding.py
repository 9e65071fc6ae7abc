"""Takes more than it may, and sees whether it is stopped."""

from __future__ import annotations

import time
from collections.abc import Generator

_SECONDS_HELD = 0.4

# What is taken, as it is taken: how much is held by then.
Held = Generator[int, None, None]


def holds(taking: Held, most: int) -> bool:
    """Returns whether more than `most` could be taken, and was held for some time."""
    try:
        for held in taking:
            if held > most:
                time.sleep(_SECONDS_HELD)
                return True
    finally:
        taking.close()
    return False
