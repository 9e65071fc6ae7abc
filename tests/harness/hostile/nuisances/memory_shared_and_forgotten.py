"""Fills shared memory and takes its pages out of its own sight: they stay, and count for nobody."""

import ctypes

from accomplice import CHUNK, LIBC, TOO_MUCH_MEMORY, hoarding, mapped, unmap

MADV_DONTNEED = 4


def take():
    kept = []
    try:
        while True:
            kept.append(mapped(CHUNK))
            ctypes.memset(kept[-1], 7, CHUNK)
            LIBC.madvise(ctypes.c_void_p(kept[-1]), ctypes.c_size_t(CHUNK), MADV_DONTNEED)
            yield sum(CHUNK for address in kept if ctypes.string_at(address, 1) == b"\7")
    finally:
        for address in kept:
            unmap(address, CHUNK)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
