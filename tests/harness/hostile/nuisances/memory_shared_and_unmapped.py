"""Fills shared memory and unmaps all but a page of it, by which the rest is kept."""

import ctypes

from accomplice import CHUNK, PAGE, TOO_MUCH_MEMORY, hoarding, mapped, unmap


def take():
    kept = []
    try:
        while True:
            kept.append(mapped(CHUNK))
            ctypes.memset(kept[-1], 7, CHUNK)
            unmap(kept[-1] + PAGE, CHUNK - PAGE)
            yield CHUNK * len(kept)
    finally:
        for address in kept:
            unmap(address, PAGE)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
