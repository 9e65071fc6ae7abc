"""Which functions are adapters: those that the grader calls."""

from __future__ import annotations

_BEGINNINGS = ("run_", "get_")


def is_adapter(name: str) -> bool:
    """Whether a function of this name is one: `run_` something, or `get_` an object or a class."""
    return name.startswith(_BEGINNINGS)
