"""Two of it at a time: one locks files that all may read, the other feels which are locked."""

import fcntl
import os
import struct
import time

from accomplice import HINTS, telling

FOLDER = os.path.dirname(os.__file__)
NAMES = ("os.py", "re/__init__.py", "json/__init__.py", "ast.py", "dis.py", "abc.py", "bdb.py")
F_OFD_GETLK, F_OFD_SETLK = 36, 37
SECONDS, IS_WRITER = 2.5, HINTS["copy"] == 0
BITS = (1, 0, 1, 1, 0, 0, 1)  # what the one tells the other


def look():
    files = [os.open(os.path.join(FOLDER, name), os.O_RDONLY) for name in NAMES]
    write, read = (lock_all, nothing) if IS_WRITER else (nothing, feel)
    end = time.monotonic() + SECONDS
    write(files)
    while time.monotonic() < end:
        time.sleep(0.05)
        if found := read(files):
            yield f"the note {found}"
            return


def nothing(files):
    return None


def lock_all(files):
    for file, bit in zip(files, BITS):
        if bit:
            attempt(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            attempt(fcntl.lockf, file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1)
            attempt(fcntl.fcntl, file, F_OFD_SETLK, lock_of(fcntl.F_RDLCK))


def feel(files):
    ways = (
        lambda file: not attempt(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda file: kind_of(attempt(fcntl.fcntl, file, fcntl.F_GETLK, lock_of(fcntl.F_WRLCK))),
        lambda file: kind_of(attempt(fcntl.fcntl, file, F_OFD_GETLK, lock_of(fcntl.F_WRLCK))),
        lambda file: not attempt(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_WRLCK),
    )
    for number, way in enumerate(ways):
        found = tuple(int(way(file)) for file in files)
        for file in files:
            attempt(fcntl.flock, file, fcntl.LOCK_UN)
            attempt(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        if found == BITS:
            return number, found
    return None


def attempt(call, *arguments):
    try:
        return call(*arguments) or True
    except OSError:
        return False


def lock_of(kind):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0)


def kind_of(lock):
    return isinstance(lock, bytes) and struct.unpack_from("h", lock)[0] != fcntl.F_UNLCK


run_double, run_count = telling(look)
