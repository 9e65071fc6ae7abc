"""Namespaces: where the machine grants them, workers have processes and networks of their own."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# Flags of unshare(2).
_USER_NAMESPACE = 0x10000000
_PROCESSES = 0x20000000
_MOUNTS = 0x00020000
_OTHERS = {"network": 0x40000000, "ipc": 0x08000000, "host name": 0x04000000}


def enter_process_namespace() -> list[str]:
    """What this process forks from now on has process ids of its own, where that is granted.

    The first that is forked is the namespace's init: when it ends, all others there are killed by
    the kernel. Who is not privileged is granted that only inside a user namespace, in which this
    process stays the user that it was. The names of the namespaces that were entered.
    """
    if sys.platform != "linux":
        return []
    if _unshare(_PROCESSES):
        return ["process ids"]
    # Tried by a child first: there is no way back from a user namespace that is of no use.
    child = os.fork()
    if child == 0:
        os._exit(0 if _enter_as_user() else 1)
    useful = os.waitpid(child, 0)[1] == 0
    return ["users", "process ids"] if useful and _enter_as_user() else []


def enter_other_namespaces() -> list[str]:
    """Leaves the machine's other namespaces, for this process and all that it will fork.

    A second wall behind the seccomp filter. The names of those that were granted.
    """
    if sys.platform != "linux":
        return []
    return [name for name, flag in _OTHERS.items() if _unshare(flag)]


def enter_mount_namespace() -> bool:
    """Whether this process can mount what nobody else sees, and what vanishes with it."""
    return sys.platform == "linux" and _unshare(_MOUNTS)


def _unshare(flags: int) -> bool:
    return bool(ctypes.CDLL(None).unshare(flags) == 0)


def _enter_as_user() -> bool:
    user, group = os.geteuid(), os.getegid()
    if not _unshare(_USER_NAMESPACE | _PROCESSES):
        return False
    try:
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return False
    return True
