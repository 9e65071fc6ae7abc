"""Tries to hold more disk than it may: `most` bytes, or files, are too much of anybody.

What is taken is given back at once, or with the worker's folder.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from .holding import Held, holds

_LIBC = ctypes.CDLL(None, use_errno=True)
_CHUNK, _KEEP_SIZE = 16 << 20, 1


def run_disk(most: int) -> bool:
    return holds(_written(lambda number: _new(f"{number}")), most)


def run_disk_unlinked(most: int) -> bool:
    return holds(_written(_without_name), most)


def run_disk_never_named(most: int) -> bool:
    def new(_number: int) -> int:
        return os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)

    return holds(_written(new), most)


def run_disk_mapped(most: int) -> bool:
    """Returns a file without a name and without a descriptor, which a mapping keeps."""

    def take() -> Held:
        kept: list[mmap.mmap] = []
        while True:
            descriptor = _without_name(len(kept))
            os.write(descriptor, bytes(_CHUNK))
            kept.append(mmap.mmap(descriptor, mmap.PAGESIZE))
            os.close(descriptor)
            yield _CHUNK * len(kept)

    return holds(take(), most)


def run_disk_in_flight(most: int) -> bool:
    """Returns a file that is on its way between two sockets, and nowhere else."""

    def take() -> Held:
        sender, receiver = socket.socketpair()
        sender.setblocking(False)
        with sender, receiver:
            for number in range(1, 1000):
                descriptor = _without_name(number)
                os.write(descriptor, bytes(_CHUNK))
                socket.send_fds(sender, [b"!"], [descriptor])
                os.close(descriptor)
                yield _CHUNK * number

    return holds(take(), most)


def run_disk_below_deep_folders(most: int) -> bool:
    """No path is long enough to name what lies there."""
    name, here = "d" * 255, os.open(tempfile.gettempdir(), os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        here = os.open(name, os.O_RDONLY, dir_fd=here)

    def new(number: int) -> int:
        return os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here)

    return holds(_written(new), most)


def run_disk_in_a_closed_folder(most: int) -> bool:
    """Fills a folder that its owner may enter and write, but not list."""
    os.umask(0)
    Path(tempfile.gettempdir(), "closed").mkdir(0o300)
    return holds(_written(lambda number: _new(f"closed/{number}")), most)


def run_disk_allocated(most: int) -> bool:
    """Blocks beyond the end of a file do not count for its size."""

    def take() -> Held:
        with tempfile.TemporaryFile() as file:
            for number in range(1000):
                offset, length = ctypes.c_long(number * _CHUNK), ctypes.c_long(_CHUNK)
                if _LIBC.fallocate(file.fileno(), _KEEP_SIZE, offset, length):
                    raise OSError(ctypes.get_errno(), "fallocate")
                yield _CHUNK * (number + 1)

    return holds(take(), most)


def run_files(most: int) -> bool:
    def take() -> Held:
        for number in range(most + 2):
            os.close(_new(f"{number:0200}"))
            yield number

    return holds(take(), most)


def _written(new: Callable[[int], int]) -> Held:
    """Files of one chunk each, whose descriptors are kept open."""
    kept: list[int] = []
    while True:
        kept.append(new(len(kept)))
        os.write(kept[-1], bytes(_CHUNK))
        yield _CHUNK * len(kept)


def _new(name: str) -> int:
    return os.open(Path(tempfile.gettempdir(), name), os.O_CREAT | os.O_RDWR, 0o600)


def _without_name(number: int) -> int:
    descriptor = _new(f"{number}")
    Path(tempfile.gettempdir(), f"{number}").unlink()
    return descriptor
