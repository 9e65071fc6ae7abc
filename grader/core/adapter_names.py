"""Which functions are adapters: those that the grader calls."""

from __future__ import annotations

_BEGINNINGS = ("run_", "get_")


def is_adapter(name: str) -> bool:
    """Returns whether a function of this name is an adapter, by its prefix `run_` or `get_`."""
    return name.startswith(_BEGINNINGS)
