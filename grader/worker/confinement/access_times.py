"""Access times of files that all workers may read: none can leave a mark in them for another one.

Where workers have no file tree of their own, each sees when a file was last read. Linux notes that
only if the note is not younger than the file's last change, or is a day old (relatime, mount(8)).
A file with a note of the last half day so tells nothing for another half, whoever reads it.

This does not hold for links elsewhere on the machine, whose names can be followed, nor where a file
system notes each access (strictatime).
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_DAY = 24 * 3600
# A judge waits twice as long for its fork server.
_SECONDS = 60.0


def close_access_times(places: Iterable[Path]) -> None:
    """Renews the notes on all files, folders and links at and below `places` for half a day.

    A note that is too young to be made again by reading is written; who may not write it, as of a
    file of somebody else's, leaves that open. So does a machine that is not done within a minute.
    """
    end = time.monotonic() + _SECONDS
    for place in _outermost(places):
        for path, status in _below(place):
            if time.monotonic() > end:
                return
            with contextlib.suppress(OSError):
                renew(path, status)


def _outermost(places: Iterable[Path]) -> list[str]:
    """Returns the places without those that lie in another one."""
    found = {os.path.realpath(place) for place in places}
    return [path for path in found if not any(str(above) in found for above in Path(path).parents)]


def _below(place: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yields what lies at and below a place, folders by listing them, and follows no link."""
    waiting = [place]
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                waiting += [entry.path for entry in os.scandir(path)]
        except OSError:
            continue
        yield path, status


def renew(path: str, status: os.stat_result) -> None:
    """Renews the note of one file, folder or link, if it would be renewed within half a day."""
    changed, age = max(status.st_mtime, status.st_ctime), time.time() - status.st_atime
    if status.st_atime <= changed or age >= _DAY:
        _read(path, status.st_mode)
    elif age > _DAY / 2:
        # To write it is a change, which has to be older than the note.
        note = time.time_ns() + 10**9
        os.utime(path, ns=(note, status.st_mtime_ns), follow_symlinks=False)


def _read(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        Path(path).readlink()
    elif stat.S_ISREG(mode):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file, 1, 0)
        finally:
            os.close(file)
