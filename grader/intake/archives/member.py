"""Where a member of an archive goes."""

from __future__ import annotations

import re

from grader.core.submission import Unreadable
from grader.intake.naming import shortened

_DRIVE = re.compile(r"[A-Za-z]:")


def slashed(name: str) -> str:
    """A member's name with slashes between folders, as also zips made on Windows should have."""
    return name.replace("\\", "/")


def member_parts(name: str) -> tuple[str, ...]:
    """The folders and the file that a member's name says; empty for the archive's own top.

    Backslashes separate folders, as in zips made on Windows. Raises Unreadable for a name that
    leads out of the archive.
    """
    path = slashed(name)
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if path.startswith("/") or _DRIVE.match(path) or ".." in parts:
        raise Unreadable(
            f"the archive has a member that leads out of it, {shortened(name)}; "
            "make it anew from inside the folder"
        )
    return parts
