"""The working directory of a submission: a copy of its folder, and a finder of its own modules.

The submission's folder is read-only, yet programs write logs and checkpoints beside themselves. The
working directory, the workplace, is therefore a copy of that folder in the scratch folder. Its
folders are real and its small files are copies; other files, including source, are links. Files
written there count as files in the scratch folder, and vanish with it.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import shutil
import sys
from pathlib import Path

from grader.worker.packages import Folders, Spec

WORKPLACE = "submission"
# Programs rewrite or append to small files, mostly logs; larger ones are data.
_COPIED = 64 << 10  # bytes
_SOURCE = (".py", ".ipynb")


def make_workplace(root: Path, scratch: Path) -> Path:
    """Makes a writable copy of `root`; returns its folder.

    Returns `root` itself if the copy fails, as on a full disk.
    """
    place = scratch / WORKPLACE
    try:
        _fill(root, place)
    except (OSError, RecursionError):
        shutil.rmtree(place, ignore_errors=True)
        return root
    return place


def _fill(root: Path, place: Path) -> None:
    for folder, _, names in os.walk(root):
        into = place / Path(folder).relative_to(root)
        into.mkdir()
        for source in (Path(folder, name) for name in names):
            if source.suffix in _SOURCE or source.lstat().st_size > _COPIED:
                (into / source.name).symlink_to(source)
            else:
                shutil.copyfile(source, into / source.name)


class WorkplaceFinder(importlib.abc.MetaPathFinder):
    """A finder that takes modules from `root` where `sys.path` leads to the workplace."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place

    def find_spec(self, fullname: str, path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a module in `root`, if it would be found in the workplace."""
        entries = [one for one in (sys.path if path is None else path) if isinstance(one, str)]
        itself = [self._itself(entry) for entry in entries]
        if itself == entries:
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, itself)

    def _itself(self, entry: str) -> str:
        if entry.startswith(os.sep) and not entry.startswith(str(self._place)):
            return entry
        with contextlib.suppress(OSError, ValueError):
            absolute = os.path.normpath(Path(entry).absolute())
            return str(self._root / Path(absolute).relative_to(self._place))
        return entry
