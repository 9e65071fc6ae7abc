"""Folders of groups with all below them: who is in them, ending those, taking them away."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from grader.sandbox.cgroups.control_files import words, write

# Whoever holds gigabytes takes seconds to die.
_SECONDS = 10.0
_SHORTEST, _LONGEST = 0.0002, 0.02


def kill_all(tops: Iterable[Path]) -> bool:
    """Kills all that is in groups; whether none is left when the time for it is up."""
    folders = [folder for top in tops for folder in _below(top)]
    if not _killed_at_once(folders):
        # Nobody in them can start another one from here on, so that they become fewer.
        for folder in folders:
            with contextlib.suppress(OSError):
                write(folder / "pids.max", 0)
    return _in_time(lambda: _is_emptied(folders))


def remove_all(tops: Iterable[Path]) -> bool:
    """Removes groups that nobody is in; whether none is left when the time for it is up.

    The kernel keeps one until the last of its members has given back what it held.
    """
    folders = [folder for top in tops for folder in _below(top)]
    return _in_time(lambda: _are_removed(folders))


def members(folders: Iterable[Path]) -> set[int]:
    """The process ids in groups, those below them not counted."""
    found = {int(pid) for folder in folders for pid in words(folder / "cgroup.procs")}
    return found - {0}  # what the kernel calls those that this process cannot see; to kill, itself


def _below(top: Path) -> Iterator[Path]:
    """A folder and those in it, the innermost first."""
    with contextlib.suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(Path(entry.path))
    yield top


def _killed_at_once(folders: list[Path]) -> bool:
    """Whether the kernel kills all that is in groups by itself (version 2, since Linux 5.14)."""
    try:
        for folder in folders:
            write(folder / "cgroup.kill", 1)
    except OSError:
        return not any(folder.exists() for folder in folders)
    return True


def _is_emptied(folders: list[Path]) -> bool:
    left = members(folders)
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return not left


def _are_removed(folders: list[Path]) -> bool:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
    return not any(folder.exists() for folder in folders)


def _in_time(is_done: Callable[[], bool]) -> bool:
    deadline, pause = time.monotonic() + _SECONDS, _SHORTEST
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
    return True
