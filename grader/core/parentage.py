"""Processes that never outlive the one that started them (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

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
