"""The numbers of system calls, as libseccomp knows them."""

from __future__ import annotations

# Loaded before the fork: it looks for libseccomp with the help of other programs.
try:
    import pyseccomp
except (ImportError, RuntimeError, OSError):  # another system than Linux, or no libseccomp
    pyseccomp = None

_UNKNOWN = -1
# Names that an older libseccomp does not know; the numbers are the same on every architecture.
_NEWER = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "clone3": 435,
    "close_range": 436,
    "openat2": 437,
    "pidfd_getfd": 438,
    "faccessat2": 439,
    "process_madvise": 440,
    "epoll_pwait2": 441,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "futex_waitv": 449,
    "fchmodat2": 452,
    "map_shadow_stack": 453,
    "futex_wake": 454,
    "futex_wait": 455,
    "futex_requeue": 456,
    "mseal": 462,
    "setxattrat": 463,
    "getxattrat": 464,
    "listxattrat": 465,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_getattr": 468,
    "file_setattr": 469,
}


class UnknownCall(Exception):
    """libseccomp knows no system call of this name."""


def native_architecture() -> int | None:
    """The architecture of this machine, as audit names it; None without libseccomp."""
    return None if pyseccomp is None else int(pyseccomp.system_arch())


def number_of(name: str, architecture: int) -> int | None:
    """The number of a system call; None where the architecture has no such call.

    Raises:
        UnknownCall: if no architecture is known to have it.
    """
    number = int(pyseccomp.resolve_syscall(architecture, name))
    if number == _UNKNOWN:
        if name not in _NEWER:
            raise UnknownCall(name)
        return _NEWER[name]
    return number if number >= 0 else None
