"""Fills private memory and makes it read-only: it leaves what is counted as data."""

import ctypes

from accomplice import (
    ANONYMOUS,
    CHUNK,
    LIBC,
    PRIVATE,
    READABLE,
    TOO_MUCH_MEMORY,
    WRITABLE,
    hoarding,
    mapped,
    unmap,
)


def take():
    kept = []
    try:
        while True:
            kept.append(mapped(CHUNK, WRITABLE, PRIVATE | ANONYMOUS))
            ctypes.memset(kept[-1], 7, CHUNK)
            LIBC.mprotect(ctypes.c_void_p(kept[-1]), ctypes.c_size_t(CHUNK), READABLE)
            yield CHUNK * len(kept)
    finally:
        for address in kept:
            unmap(address, CHUNK)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
