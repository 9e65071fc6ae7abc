"""Looks for the note of an earlier worker in every place that may have outlived it."""

import ctypes
import glob
import os
import site
import socket
import sys
import tempfile

from accomplice import HINTS, LIBC, ancestors, reading, telling

NAME = f"{HINTS['marker']}-note"
KEY = int(HINTS["marker"][-7:], 16)


def look():
    for folder in (
        "/tmp", "/var/tmp", "/dev/shm", "/run", "/dev/mqueue", tempfile.gettempdir(), os.getcwd(),
        os.environ.get("HOME", "/"), HINTS["tmp"], HINTS["home"], *site.getsitepackages(),
        *filter(os.path.isdir, sys.path), os.path.dirname(os.getcwd()),
    ):  # fmt: skip
        yield from reading(os.path.join(folder, NAME))
    for path in glob.glob(f"/proc/*/cwd/{NAME}") + glob.glob(f"{HINTS['tmp']}/**/{NAME}"):
        yield from reading(path)
    if LIBC.shmget(KEY, 0, 0o666) >= 0:
        yield "shared memory was left"
    if LIBC.msgget(KEY, 0o666) >= 0:
        yield "a queue was left"
    if LIBC.syscall(249, b"user", NAME.encode(), None, ctypes.c_long(0)) >= 0:
        yield "a key was left"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.connect("\0" + NAME)
        yield "a socket was left"
    except OSError:
        pass
    for pid in ancestors():
        yield from (c for c in reading(f"/proc/{pid}/comm") if HINTS["marker"].encode() in c)


run_double, run_count = telling(look)
