"""Grounds, and the scopes around them, have the names of the processes that they belong to."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from grader.sandbox.usage import is_alive

_NAME = re.compile(r"grader-([0-9]{1,9})-([0-9]{1,20})-[0-9a-f]{8}(\.scope)?")


def new_name() -> str:
    """A name for a ground of this process."""
    return f"grader-{os.getpid()}-{_namespace()}-{secrets.token_hex(4)}"


def is_of_a_grader(name: str) -> bool:
    """Whether a grader gave this name."""
    return _NAME.fullmatch(name) is not None


def is_abandoned(name: str) -> bool:
    """Whether a grader gave this name whose process is gone, as far as can be seen from here."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[2]) != _namespace():
        return False
    return not is_alive(int(match[1]))


def _namespace() -> int:
    """Which namespace of process ids this process is in: in another one its id is another's."""
    return Path("/proc/self/ns/pid").stat().st_ino
