"""Namespaces: where the machine grants them, workers have a network and an IPC of their own."""

from __future__ import annotations

import ctypes
import os
import sys

# Flags of unshare(2).
_NAMESPACES = {"network": 0x40000000, "ipc": 0x08000000, "host name": 0x04000000}


def enter_namespaces() -> str:
    """Leaves the machine's namespaces, for this process and all that it will fork.

    A second wall behind the seccomp filter; only a privileged process is granted it.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return "not granted"
    libc = ctypes.CDLL(None)
    entered = [name for name, flag in _NAMESPACES.items() if libc.unshare(flag) == 0]
    return ", ".join(entered) or "not granted"
