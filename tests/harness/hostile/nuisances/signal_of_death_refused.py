"""Asks to live on when its parent dies, with a bit set that the kernel does not read."""

import ctypes
import os
import signal

from accomplice import GOT, LIBC, winning

PRCTL = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, HIGH = 1, 2, 1 << 32


def attempt():
    for bit in (0, HIGH, HIGH << 7, 1 << 63):
        LIBC.prctl(ctypes.c_ulong(bit | PR_SET_PDEATHSIG), ctypes.c_ulong(0), 0, 0, 0)
        LIBC.syscall(
            ctypes.c_long(PRCTL), ctypes.c_ulong(bit | PR_SET_PDEATHSIG), ctypes.c_ulong(0), 0, 0, 0
        )
    kept = ctypes.c_int(-1)
    LIBC.prctl(PR_GET_PDEATHSIG, ctypes.byref(kept), 0, 0, 0)
    if kept.value != 0:
        return "it found nothing"
    LIBC.prctl(ctypes.c_ulong(HIGH | PR_SET_PDEATHSIG), signal.SIGKILL, 0, 0, 0)
    return f"{GOT}rid of the signal that ends it with its parent"


run_double, run_count = winning(attempt)
