"""A submission's own files, and the copy of its folder in which it works.

The folder itself is read only, and yet programs write logs and checkpoints beside themselves. So
the working directory is a likeness of it in the scratch folder: its folders are real ones, its
small files copies, and the others, source among them, links to what was handed in. What is written
there counts as what is written to the scratch folder, and vanishes with it.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import shutil
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_ENGINE = Path(__file__).parents[2]


def own_file(filename: str, root: Path) -> str | None:
    """Returns a file's path below `root`.

    Returns None elsewhere, for installed packages and for the engine.

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


WORKPLACE = "submission"
# Of a larger folder the rest is linked as a whole, and can only be read.
_ENTRIES = 1000
# What may be written again or added to is mostly a log; data is read.
_COPIED, _COPIED_IN_ALL = 64 << 10, 4 << 20
_SOURCE = (".py", ".ipynb")


def make_workplace(root: Path, scratch: Path) -> Path:
    """Returns a likeness of `root` in which can be written.

    `root` itself, if there is no room for one.
    """
    place = scratch / WORKPLACE
    try:
        _fill(root, place)
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        return root
    return place


def _fill(root: Path, place: Path) -> None:
    place.mkdir()
    entries, room = _ENTRIES, _COPIED_IN_ALL
    left = deque([(root, place)])
    while left:
        folder, into = left.popleft()
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda one: one.name):
                entries -= 1
                target = into / entry.name
                if entries > 0 and entry.is_dir(follow_symlinks=False):
                    target.mkdir()
                    left.append((Path(entry.path), target))
                elif entries > 0 and (size := _size_to_copy(entry)) is not None and size <= room:
                    room -= size
                    shutil.copyfile(entry.path, target)
                elif entries > -_ENTRIES:
                    target.symlink_to(entry.path)


def _size_to_copy(entry: os.DirEntry[str]) -> int | None:
    """Returns the size of a file that is copied; None for one that is linked."""
    if entry.name.endswith(_SOURCE) or not entry.is_file(follow_symlinks=False):
        return None
    size = entry.stat(follow_symlinks=False).st_size
    return size if size <= _COPIED else None


class OfWhatWasHandedIn(importlib.abc.MetaPathFinder):
    """Has modules come from the folder itself where `sys.path` leads to the workplace."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of a module in `root`, if it would be found in the workplace."""
        entries = [one for one in (sys.path if path is None else path) if isinstance(one, str)]
        itself = [self._itself(entry) for entry in entries]
        if itself == entries:
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, itself, target)

    def _itself(self, entry: str) -> str:
        if entry.startswith(os.sep) and not entry.startswith(str(self._place)):
            return entry
        with contextlib.suppress(OSError, ValueError):
            absolute = os.path.normpath(Path(entry).absolute())
            return str(self._root / Path(absolute).relative_to(self._place))
        return entry
