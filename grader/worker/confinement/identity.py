"""Identity and namespaces: workers without privileges, in namespaces of their own."""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from pathlib import Path

from grader.core.processes import end_with_parent, prctl

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES = 64
_CAPABILITY_VERSION = 0x20080522


# The range that systemd uses for dynamic users, which exist only while a service runs.
_FIRST_USER, _USERS = 61184, 4000


class _Header(ctypes.Structure):
    """`struct __user_cap_header_struct` (capget(2))."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def unprivileged_user(number: int) -> int | None:
    """Returns a user id that only the workers of this process have; it follows from `number`.

    Returns None for a process without privileges, and where that user could not read packages. The
    interpreter may lie in a folder that is closed to others, for example in root's home.
    """
    if os.geteuid() != 0:
        return None
    user = _FIRST_USER + number % _USERS
    pid = os.fork()
    if pid == 0:
        try:
            _become(user)
            paths = sysconfig.get_paths()
            for key in ("stdlib", "purelib", "platlib"):
                next(Path(paths[key]).iterdir())
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return user if status == 0 else None


def drop_privileges(user: int | None) -> str:
    """Takes on `user` (also as group) if it is given; returns a name for the new identity."""
    name = "root without capabilities" if os.geteuid() == 0 else "ordinary user"
    if os.geteuid() == 0 and user is not None:
        name = "unprivileged user"
        _become(user)
        # A change of user clears both: its user may read its /proc, and it ends with its parent.
        prctl(_PR_SET_DUMPABLE, 1)
        end_with_parent()
    elif os.geteuid() == 0 and sys.platform != "linux":
        return "none"
    else:
        # In a user namespace, an ordinary user has all capabilities.
        _drop_capabilities()
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    return name


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _drop_capabilities() -> None:
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION, 0)), nothing) != 0:
        raise OSError(ctypes.get_errno(), "the capabilities could not be dropped")


# Flags of unshare(2).
_USER_NAMESPACE = 0x10000000
_PROCESS_NAMESPACE = 0x20000000
_MOUNT_NAMESPACE = 0x00020000
_OTHER_NAMESPACES = {"network": 0x40000000, "ipc": 0x08000000, "host name": 0x04000000}


def enter_process_namespace() -> list[str]:
    """Puts processes that are forked from now on into a pid namespace, where that is granted.

    The first of these processes is the namespace's init: when it ends, the kernel kills all others
    there. A process without privileges also needs a user namespace, in which it keeps its user.
    Returns the names of the namespaces that were entered.
    """
    if sys.platform != "linux":
        return []
    if _unshare(_PROCESS_NAMESPACE):
        return ["process ids"]
    # A child tries first: a process cannot leave a user namespace that turns out useless.
    child = os.fork()
    if child == 0:
        os._exit(0 if _enter_as_user() else 1)
    is_granted = os.waitpid(child, 0)[1] == 0
    return ["users", "process ids"] if is_granted and _enter_as_user() else []


def enter_other_namespaces() -> list[str]:
    """Enters new network, IPC and host name namespaces, for this process and its later forks.

    They are a second layer behind the seccomp filter. Returns the names of those granted.
    """
    return [name for name, flag in _OTHER_NAMESPACES.items() if _unshare(flag)]


def enter_mount_namespace() -> bool:
    """Enters a mount namespace, unseen by others and gone at the end; returns whether it could."""
    return _unshare(_MOUNT_NAMESPACE)


def _unshare(flags: int) -> bool:
    return sys.platform == "linux" and bool(ctypes.CDLL(None).unshare(flags) == 0)


def _enter_as_user() -> bool:
    user, group = os.geteuid(), os.getegid()
    if not _unshare(_USER_NAMESPACE | _PROCESS_NAMESPACE):
        return False
    try:
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return False
    return True
