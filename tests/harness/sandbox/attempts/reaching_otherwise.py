"""Other ways to reach others' files and processes, or to signal to them.

This module stands beside `grader/sandbox/attempts/reaching.py` where it is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from . import reaching
from .reaching import LIBC

_ATTACH = 16
_ACCESSED = 0x80000000 | 0x1
_HIGH_BIT = 1 << 32
_SET_DEATH_SIGNAL, _GET_DEATH_SIGNAL = 1, 2
_OFD_GET, _OFD_SET = 36, 37
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_BY_USER, _LEAST = 3, 3 << 13


def run_write_where_it_runs() -> bool:
    with Path("written.txt").open("w") as file:
        return file.write("here") > 0


def run_trace_parent() -> bool:
    return bool(LIBC.ptrace(_ATTACH, os.getppid(), 0, 0) == 0)


def run_change_mode() -> bool:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0o777)
        return True


def run_place_of_a_file_elsewhere() -> bool:
    with contextlib.suppress(OSError):
        os.chdir("/etc")
        return Path("passwd").exists()
    return os.access("/etc/passwd", os.F_OK)


def run_notify() -> bool:
    """Asks for a signal when a file of a shared folder is read (dnotify, the older way)."""
    told: list[int] = []
    signal.signal(signal.SIGIO, lambda number, _: told.append(number))
    folder = os.open(reaching.SHARED.parent, os.O_RDONLY)
    fcntl.fcntl(folder, fcntl.F_NOTIFY, _ACCESSED)
    reaching.SHARED.read_bytes()
    time.sleep(0.1)
    return bool(told)


def run_hold_locks() -> bool:
    """Locks a file that all workers read, in each way that is not refused."""
    file = os.open(reaching.SHARED, os.O_RDONLY)  # stays open until the process ends
    for lock in (
        lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.fcntl(file, fcntl.F_SETLK, _lock(fcntl.F_RDLCK)),
        lambda: fcntl.fcntl(file, _OFD_SET, _lock(fcntl.F_RDLCK)),
    ):
        with contextlib.suppress(OSError):
            lock()
    return True


def run_see_locks() -> bool:
    file = os.open(reaching.SHARED, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return any(_finds_a_lock(file, command) for command in (fcntl.F_GETLK, _OFD_GET))


def run_lease() -> bool:
    """Takes a lease, which reports when another process opens the file; only its owner may."""
    fcntl.fcntl(os.open(reaching.SHARED, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return True


def run_outlive_its_parent() -> bool:
    """Clears the parent-death signal, also by a 64-bit argument: the kernel reads 32 bits of it."""
    kept = ctypes.c_int(-1)
    for option in (_SET_DEATH_SIGNAL, _HIGH_BIT | _SET_DEATH_SIGNAL):
        LIBC.prctl(ctypes.c_ulong(option), ctypes.c_ulong(0), 0, 0, 0)
    LIBC.prctl(_GET_DEATH_SIGNAL, ctypes.byref(kept), 0, 0, 0)
    return kept.value == 0


def run_priority_of_its_user() -> bool:
    """Sets the priority of its user's processes to the present one: harmless if it succeeds."""
    return _reaches_the_kernel(
        lambda: os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0))
    )


def run_priority_of_its_parent() -> bool:
    same = os.getpriority(os.PRIO_PROCESS, os.getppid())
    return os.getppid() != 0 and _reaches_the_kernel(
        lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), same)
    )


def run_turns_at_the_disk() -> bool:
    number = _IOPRIO_SET[os.uname().machine]
    return bool(LIBC.syscall(number, _BY_USER, os.getuid(), _LEAST) == 0)


def run_limits_of_its_parent() -> bool:
    import resource

    return bool(resource.prlimit(os.getppid(), resource.RLIMIT_CORE)) and os.getppid() != 0


def _reaches_the_kernel(call: Callable[[], None]) -> bool:
    """Returns whether a call succeeds, or is refused by the kernel itself and not by a filter."""
    try:
        call()
    except OSError as error:
        return error.errno == errno.EACCES
    return True


def _lock(kind: int) -> bytes:
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0)


def _finds_a_lock(file: int, command: int) -> bool:
    with contextlib.suppress(OSError):
        found = fcntl.fcntl(file, command, _lock(fcntl.F_WRLCK))
        return bool(struct.unpack_from("h", found)[0] != fcntl.F_UNLCK)
    return False
