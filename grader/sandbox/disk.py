"""What a worker has taken of the disk: what can be listed, and what only it still reaches."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.removal import opened

_DEEPEST = 100  # folders inside one another
_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 2, 4
_BLOCK = 512  # bytes, whatever the file system's own are (stat(2))


@dataclass(slots=True)
class Room:
    """What is left of the bytes, and of names of files, that may be taken.

    What a file holds counts once, however many names it has.
    """

    size: int
    files: int
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def take(self, status: os.stat_result) -> None:
        """Counts a name, and a file by what is allocated for it."""
        self.files -= 1
        if (file := (status.st_dev, status.st_ino)) not in self._seen:
            self._seen.add(file)
            self.size -= status.st_blocks * _BLOCK

    def take_unseen(self, device: int, number: int, size: int) -> None:
        """Counts a file that nobody can look at by what it may be at most."""
        if (device, number) not in self._seen:
            self._seen.add((device, number))
            self.size -= size

    @property
    def is_left(self) -> bool:
        """Whether no more was taken than there was."""
        return self.size >= 0 and self.files >= 0


def fits(folder: Path, room: Room) -> bool:
    """Whether what can be listed below a folder fits; what is too deep to be counted does not.

    Folders that their owner closed are opened for that.
    """
    try:
        with opened(os.fspath(folder)) as top:
            return _fits(top, room, _DEEPEST)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _fits(folder: int, room: Room, depth: int) -> bool:
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                room.take(entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.name)
            if not room.is_left:
                return False
    if inner and depth == 0:
        return False
    for name in inner:
        with contextlib.suppress(FileNotFoundError), opened(name, folder) as one:
            if not _fits(one, room, depth - 1):
                return False
    return True


def take_unlisted(pid: int, folder: Path, largest: int, user: int | None, room: Room) -> None:
    """Counts the files of `folder` that have no name any more, but are open or mapped.

    Of what is only mapped, nobody is told the size: it counts as the `largest` that it may be.
    `user` is the process's, if it has one of its own.
    """
    with _seen_as(user), contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                status = descriptor.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    room.take(status)
        for device, number in _unlinked_maps(pid, folder):
            room.take_unseen(device, number, largest)


def _unlinked_maps(pid: int, folder: Path) -> Iterator[tuple[int, int]]:
    """Device and number of each mapped file below a folder whose name is gone (proc(5))."""
    for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines():
        if line.endswith(b" (deleted)") and os.fsencode(folder) in line:
            major, minor = line.split()[3].split(b":")
            yield os.makedev(int(major, 16), int(minor, 16)), int(line.split()[4])


@contextlib.contextmanager
def _seen_as(user: int | None) -> Iterator[None]:
    """Looks at what only a user may see of its processes (setfsuid(2)).

    A superuser in a container often may not trace others' processes, but may look as they do. What
    a change of user clears, the signal with which this process ends when its parent does, is set
    again.
    """
    if user is None or sys.platform != "linux":
        yield
        return
    libc, at_death = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(at_death), 0, 0, 0)
    own_group, own_user = libc.setfsgid(user), libc.setfsuid(user)
    try:
        yield
    finally:
        libc.setfsuid(own_user)
        libc.setfsgid(own_group)
        libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, at_death.value, 0, 0, 0)
