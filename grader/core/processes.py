"""Processes: which end with their parent, which are running, on how many processors."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """Has the kernel kill this process when its parent ends (prctl(2)).

    If it is no longer `parent` who is that, it has ended already, and so does this process. What
    was asked for is cleared by a change of user.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def processors() -> int:
    """Returns how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_alive(pid: int) -> bool:
    """Returns whether a process is running: one that only waits to be buried is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return not Path("/proc/self").exists()
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
