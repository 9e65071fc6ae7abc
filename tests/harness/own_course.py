"""Assignments whose code a test imports in its own process, in place of the root's."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

_CODE = ("adapters", "assignment", "solutions", "tests.conftest", "tests.hidden", "tests.public")


def _is_of_a_course(module: str) -> bool:
    return f"{module}.".startswith(tuple(f"{name}." for name in _CODE))


@contextlib.contextmanager
def imported_alone() -> Iterator[None]:
    """Sets the code of other assignments aside, and restores it with the path afterwards."""
    path = [*sys.path]
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_of_a_course(name)}
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _is_of_a_course(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        sys.path[:] = path
