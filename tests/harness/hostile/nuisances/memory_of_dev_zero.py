"""Fills shared memory that is mapped from /dev/zero, and forgets its pages."""

import ctypes
import os

from accomplice import CHUNK, LIBC, SHARED, TOO_MUCH_MEMORY, WRITABLE, hoarding, mapped, unmap

MADV_DONTNEED = 4


def take():
    kept = []
    zero = os.open("/dev/zero", os.O_RDWR)
    try:
        while True:
            kept.append(mapped(CHUNK, WRITABLE, SHARED, zero))
            ctypes.memset(kept[-1], 7, CHUNK)
            LIBC.madvise(ctypes.c_void_p(kept[-1]), ctypes.c_size_t(CHUNK), MADV_DONTNEED)
            yield CHUNK * len(kept)
    finally:
        os.close(zero)
        for address in kept:
            unmap(address, CHUNK)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
