"""Tells a submission's own files from all others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_ENGINE = Path(__file__).parents[1]


def own_file(filename: str, root: Path) -> str | None:
    """A file's path below `root`; None elsewhere, for installed packages and for the engine.

    At home both of these may lie below the student's own folder. A module that was found by way of
    a link, or of `tests/..`, is the same file.
    """
    try:
        if not Path(filename).is_absolute():  # "<string>" names no file
            return None
        path = Path(filename).resolve()
        if not path.is_relative_to(root):
            path = Path(os.path.normpath(filename))
        if path.is_relative_to(sys.prefix) or path.is_relative_to(_ENGINE):
            return None
        return path.relative_to(root).as_posix()
    except (ValueError, TypeError):
        return None
