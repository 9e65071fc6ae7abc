"""Looks for another way to files: other roots, mounts, handles and ways to open."""

import ctypes
import os

from accomplice import HINTS, LIBC, telling


def look():
    secret = HINTS["solutions"].encode()
    for number in (2, 257, 437) if os.uname().machine == "x86_64" else (56, 437):
        how = (ctypes.c_uint64 * 3)(0, 0, 0)
        call = {
            2: (2, secret, 0),
            257: (257, -100, secret, 0),
            56: (56, -100, secret, 0),
            437: (437, -100, secret, how, 24),
        }[number]
        descriptor = LIBC.syscall(*call)
        if descriptor >= 0:
            yield os.read(descriptor, 1 << 16)
            os.close(descriptor)
    for name, call in {
        "chroot": lambda: os.chroot("."),
        "mount": lambda: LIBC.mount(b"none", b".", b"tmpfs", 0, 0),
        "mknod": lambda: os.mknod(f"{HINTS['tmp']}/{HINTS['marker']}-node", 0o60600, 0xFE00),
        "open_by_handle_at": lambda: LIBC.open_by_handle_at(
            -100, ctypes.create_string_buffer(64), 0
        ),
    }.items():
        try:
            if call() in (None, 0):
                yield f"{name} succeeded"
        except OSError:
            continue


run_double, run_count = telling(look)
