"""Access times of files that all workers may read: none can leave a mark in them for another one.

Where workers have no file tree of their own, each sees when a file was last read. Linux notes that
only if the note is not younger than the file's last change, or is a day old (relatime, mount(8)).
A file that was just read so tells nothing for a day, whoever reads it.

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

# Half of the day for which a note stands.
SECONDS_CLOSED = 12 * 3600
# A judge waits twice as long for its fork server.
_SECONDS = 60.0


def close_access_times(places: Iterable[Path]) -> None:
    """Reads every file, folder and link at and below `places` whose next reading would be noted.

    A machine that is too slow to do so within a minute leaves the rest open.
    """
    now, end = time.time(), time.monotonic() + _SECONDS
    for place in _outermost(places):
        for path, status in _below(place):
            if time.monotonic() > end:
                return
            if _is_noted(status, now):
                with contextlib.suppress(OSError):
                    _read(path, status.st_mode)


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


def _is_noted(status: os.stat_result, now: float) -> bool:
    """Returns whether the kernel would note the next reading."""
    changed = max(status.st_mtime, status.st_ctime)
    return status.st_atime <= changed or now - status.st_atime > SECONDS_CLOSED


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
