"""Opening files that strangers named: never a link, never something that blocks or rings."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

CHUNK = 1 << 18
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BY_DESCRIPTOR = Path("/proc/self/fd")
# Looks a file up without opening it (Linux).
_LOOK_UP = getattr(os, "O_PATH", 0) if _BY_DESCRIPTOR.is_dir() else 0


def open_regular(path: str | os.PathLike[str], within: int | None = None) -> int:
    """A descriptor for reading a regular file; OSError for links, FIFOs, devices and sockets.

    `within` is the descriptor of the folder that the path begins at. What is opened is what was
    looked at, whoever changes names meanwhile. Devices are turned away before: opening alone makes
    some of them act.
    """
    if not _LOOK_UP:
        _must_be_regular(os.stat(path, dir_fd=within, follow_symlinks=False))
        descriptor = os.open(path, _READING | os.O_NOFOLLOW, dir_fd=within)
        try:
            _must_be_regular(os.fstat(descriptor))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    place = os.open(path, _LOOK_UP | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        _must_be_regular(os.fstat(place))
        return os.open(f"{_BY_DESCRIPTOR}/{place}", _READING)
    finally:
        os.close(place)


def open_file(path: str | os.PathLike[str], within: int | None = None) -> BinaryIO:
    """A regular file, open for reading; OSError as `open_regular`."""
    return os.fdopen(open_regular(path, within), "rb")


def chunks(file: BinaryIO, at_most: int) -> Iterator[bytes]:
    """The next bytes of a file up to a bound, piece by piece."""
    while at_most > 0 and (chunk := file.read(min(CHUNK, at_most))):
        at_most -= len(chunk)
        yield chunk


def read_bounded(path: str | os.PathLike[str], at_most: int) -> bytes:
    """The first `at_most` bytes of a regular file; OSError as `open_regular`."""
    with open_file(path) as file:
        return b"".join(chunks(file, at_most))


def kind_in_words(mode: int) -> str:
    """What a file of this mode is, with its article."""
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a device",
        stat.S_IFCHR: "a device",
        stat.S_IFDIR: "a folder",
    }
    return kinds.get(stat.S_IFMT(mode), "a file")


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
