"""Waits for what another process or thread does, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

Found = TypeVar("Found")

# Ends a test that would otherwise hang for ever. No busy machine needs so long.
PATIENCE = 300.0


def until(condition: Callable[[], Found], what: str, pause: float = 0.05) -> Found:
    """Returns what a condition finds, as soon as it finds anything; fails if it never does."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"it never came that {what}")
        time.sleep(pause)
    return found
