"""Touches a huge mapping here and there: nothing but the kernel's page tables takes memory."""

import ctypes

import numpy
from numpy.lib.stride_tricks import as_strided as strided

from accomplice import (
    ANONYMOUS,
    LIBC,
    MEMORY,
    NO_RESERVE,
    PAGE,
    PRIVATE,
    READABLE,
    hoarding,
    mapped,
    unmap,
)

MADV_NOHUGEPAGE = 15
PER_TABLE = 2 << 20  # of addresses, by one table of a page
SPAN = 32 << 30


def take():
    kept, held = [], 0
    try:
        while True:
            kept.append(mapped(SPAN, READABLE, PRIVATE | ANONYMOUS | NO_RESERVE))
            LIBC.madvise(ctypes.c_void_p(kept[-1]), ctypes.c_size_t(SPAN), MADV_NOHUGEPAGE)
            first = numpy.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(kept[-1]))
            strided(first, (SPAN // PER_TABLE,), (PER_TABLE,)).sum()
            held += SPAN // PER_TABLE * PAGE
            yield held
    finally:
        for address in kept:
            unmap(address, SPAN)


run_double, run_count = hoarding(take, MEMORY + (128 << 20), seconds=0.3)
