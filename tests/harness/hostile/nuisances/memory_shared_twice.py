"""Fills shared memory, maps one page of it a second time, and lets go of the first mapping."""

import ctypes

from accomplice import CHUNK, LIBC, PAGE, TOO_MUCH_MEMORY, checked, hoarding, mapped, unmap

MREMAP_MAYMOVE = 1


def take():
    kept = []
    try:
        while True:
            whole = mapped(CHUNK)
            ctypes.memset(whole, 7, CHUNK)
            nothing, page = ctypes.c_size_t(0), ctypes.c_size_t(PAGE)
            kept.append(checked(LIBC.mremap(ctypes.c_void_p(whole), nothing, page, MREMAP_MAYMOVE)))
            unmap(whole, CHUNK)
            yield CHUNK * len(kept)
    finally:
        for address in kept:
            unmap(address, PAGE)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
