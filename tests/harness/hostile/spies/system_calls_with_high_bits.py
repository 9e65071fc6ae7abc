"""Tries calls with bits set that a filter compares and the kernel does not read."""

import ctypes
import os

from accomplice import LIBC, ancestors, telling

NUMBERS = {
    "x86_64": {"kill": 62, "tgkill": 234, "prlimit64": 302, "setpriority": 141, "clone": 56},
    "aarch64": {"kill": 129, "tgkill": 131, "prlimit64": 261, "setpriority": 140, "clone": 220},
}[os.uname().machine]
HIGH = (1 << 32, 1 << 63, 0xFFFFFFFF << 32)
NOFILE, SIGCHLD = 7, 17


def look():
    for pid in ancestors():
        near = ctypes.create_string_buffer(16)
        for bits in HIGH:
            for name, arguments in (
                ("kill", (bits | pid, bits)),
                ("kill", (pid, bits)),
                ("tgkill", (bits | pid, bits | pid, bits)),
                ("tgkill", (os.getpid(), bits | pid, 0)),
                ("prlimit64", (bits | pid, NOFILE, None, ctypes.addressof(near))),
                ("setpriority", (bits, bits | pid, bits)),
                ("setpriority", (0, pid, 0)),
            ):
                if called(name, *arguments) == 0:
                    yield f"{name}{arguments} succeeded"
    for bits in HIGH:
        for flags in (bits | SIGCHLD, bits):
            child = called("clone", flags, 0, 0, 0, 0)
            if child == 0:
                os._exit(0)
            if child > 0:
                yield f"clone with {flags:x} made a process"
                os.waitpid(child, 0)


def called(name, *arguments):
    words = (ctypes.c_ulong(argument or 0) for argument in arguments)
    return LIBC.syscall(ctypes.c_long(NUMBERS[name]), *words)


run_double, run_count = telling(look)
