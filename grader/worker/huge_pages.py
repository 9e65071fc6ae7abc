"""Memory in large pages, of which a fork costs half as much (Linux 6.1)."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

_MADV_COLLAPSE = 25
_SIZE = 2 << 20


def collapse_memory() -> None:
    """Has the kernel put this process's private memory into pages of 2 MB, where it can.

    A fork copies the table of its pages, not their contents: of large ones there are 512 times
    fewer. A kernel that does not know how to leaves everything as it is.
    """
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, _, _, inode, *name = line.split(maxsplit=5)
        if rights == "rw-p" and inode == "0" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in place.split("-"))
            first, last = -(-start // _SIZE) * _SIZE, end // _SIZE * _SIZE
            if first < last:
                madvise(first, last - first, _MADV_COLLAPSE)
