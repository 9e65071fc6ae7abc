"""Asks the kernel for children in each of its ways, past Python and the C library."""

import ctypes
import os
import platform
import signal
import time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE, FORK, VFORK = (56, 57, None) if platform.machine() == "x86_64" else (220, None, None)
CLONE3 = 435


def run_double(x):
    arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD)
    for call in ((FORK,), (CLONE, signal.SIGCHLD, 0, 0, 0, 0), (CLONE3, arguments, 88)):
        if call[0] is not None and LIBC.syscall(*call) == 0:
            time.sleep(20)
            os._exit(0)
    return None


def run_count(x):
    return x.numel()
