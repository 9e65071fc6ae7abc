"""Opening files that strangers named: never a link, never something that blocks or rings."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

CHUNK = 1 << 18
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_regular(path: str | os.PathLike[str]) -> int:
    """A descriptor for reading a regular file; OSError for links, FIFOs, devices and sockets."""
    # Devices are turned away before they are opened: opening alone makes some of them act.
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    descriptor = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def read_chunks(path: str | os.PathLike[str], at_most: int) -> Iterator[bytes]:
    """The bytes of a regular file up to a bound, piece by piece; OSError as `open_regular`."""
    descriptor = open_regular(path)
    try:
        while at_most > 0 and (chunk := os.read(descriptor, min(CHUNK, at_most))):
            at_most -= len(chunk)
            yield chunk
    finally:
        os.close(descriptor)


def read_bounded(path: str | os.PathLike[str], at_most: int) -> bytes:
    """The first `at_most` bytes of a regular file; OSError as `open_regular`."""
    return b"".join(read_chunks(path, at_most))


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
