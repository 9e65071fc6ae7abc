"""Waiting for another process or thread, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

Found = TypeVar("Found")

# Ends a test that would otherwise hang for ever. Even a busy machine needs less.
PATIENCE = 300.0


def until(condition: Callable[[], Found], what: str, pause: float = 0.05) -> Found:
    """Returns a condition's first true value; fails the test if there is none in time."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"it never came that {what}")
        time.sleep(pause)
    return found
