"""System calls: a seccomp filter takes away what a submission has no business with."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from typing import Any

# Loaded before the fork: it looks for libseccomp with the help of other programs.
try:
    import pyseccomp
except (ImportError, RuntimeError, OSError):  # another system than Linux, or no libseccomp
    pyseccomp = None

# Denied whatever the arguments. libseccomp knows their numbers on every architecture.
_DENIED = {
    "processes": "fork vfork execve execveat",
    "network": "socket bind connect listen accept accept4",
    "other processes": (
        "ptrace process_vm_readv process_vm_writev process_madvise pidfd_open pidfd_getfd "
        "pidfd_send_signal kcmp rt_sigqueueinfo rt_tgsigqueueinfo tkill "
        "sched_setaffinity sched_setscheduler sched_setattr sched_setparam ioprio_set "
        "move_pages migrate_pages"
    ),
    "what outlives a process": (
        "shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semctl semtimedop mq_open "
        "mq_unlink memfd_create memfd_secret keyctl add_key request_key"
    ),
    "namespaces and mounts": (
        "unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig "
        "fsmount fspick mount_setattr open_tree_attr"
    ),
    # Landlock does not look at these, and an ordinary user owns more than its scratch folder.
    "attributes of files": (
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr "
        "fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat file_setattr "
        "utime utimes utimensat futimesat "
        "open_by_handle_at name_to_handle_at"
    ),
    "the kernel": (
        "io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd "
        "fanotify_init lookup_dcookie quotactl quotactl_fd acct swapon swapoff reboot syslog "
        "kexec_load kexec_file_load init_module finit_module delete_module settimeofday "
        "clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt "
        "personality vhangup"
    ),
}
_CLONE_THREAD = 0x00010000
_PR_SET_PDEATHSIG = 1


# Names that an older libseccomp does not know; the numbers are the same on every architecture.
_UNKNOWN = -1
_NEWER = {
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}


def prepare_filter() -> None:
    """Writes ahead of the fork what of the filter is the same for every worker."""
    with contextlib.suppress(OSError):
        _common_filter()


def restrict_system_calls() -> dict[str, str]:
    """Installs the filter; what it came to, for `syscalls`, `network` and `processes`."""
    nothing = dict.fromkeys(("syscalls", "network", "processes"), "none")
    if pyseccomp is None:
        return nothing
    try:
        _filter_of_this_process().load()
    except OSError:
        return nothing
    return {"syscalls": "seccomp", "network": "denied", "processes": "denied"}


@functools.cache
def _common_filter() -> Any:
    """What is denied to every worker: libseccomp also refuses calls of foreign architectures."""
    if pyseccomp is None:
        return None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in " ".join(_DENIED.values()).split():
        rules.add_rule(_deny(), _number(name))
    # glibc falls back to clone, whose flags a filter can read: threads yes, processes no.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(_deny(), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_THREAD, 0))
    rules.add_rule(_deny(), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, _PR_SET_PDEATHSIG))
    rules.add_rule(_deny(), "prlimit64", pyseccomp.Arg(0, pyseccomp.GT, 0))
    rules.add_rule(_deny(), "setpriority", pyseccomp.Arg(1, pyseccomp.GT, 0))
    return rules


def _filter_of_this_process() -> Any:
    """The filter of a worker, which may send signals to itself alone; once for a process."""
    rules = _common_filter()
    for name in ("kill", "tgkill"):
        rules.add_rule(_deny(), name, pyseccomp.Arg(0, pyseccomp.NE, os.getpid()))
    return rules


def _deny() -> Any:
    return pyseccomp.ERRNO(errno.EPERM)


def _number(name: str) -> int:
    number = int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name))
    return _NEWER[name] if number == _UNKNOWN else number
