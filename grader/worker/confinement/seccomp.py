"""System calls: a seccomp filter that leaves a submission the calls that ordinary code needs.

A call on the list of allowed ones is made, and one on the list of denied ones raises
PermissionError. For some calls, the arguments decide. Any other call does not exist (ENOSYS), as on
an older kernel, where C libraries use another call. If the list of allowed calls may be incomplete
for the machine, only denied calls are refused, and `isolation` says why.

The lists are recorded from the calls of `tests/harness/ordinary_uses.py`, and extended by the calls
that other C libraries and processors make instead.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Mapping, Sequence

from grader.worker.confinement.seccomp_program import (
    ALLOW,
    OWN_PROCESS,
    WORD,
    Check,
    FilterProgram,
    Ruling,
    UnknownCall,
    compiled,
    native_architecture,
    number_of,
    refuse,
)

NEWEST_GLIBC = (2, 43)
"""The newest C library that the list was made for."""

ALLOWED: Mapping[str, str] = {
    "memory": (
        "brk munmap mprotect mremap msync mlock mlock2 munlock mlockall munlockall mseal "
        "map_shadow_stack pkey_alloc pkey_free pkey_mprotect mbind get_mempolicy"
    ),
    "open files": (
        "open openat creat close read write readv writev pread64 pwrite64 preadv pwritev "
        "lseek dup dup2 dup3 fsync fdatasync sync_file_range ftruncate sendfile copy_file_range"
    ),
    "names of files": (
        "stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat "
        "getcwd chdir fchdir getdents getdents64 mkdir mkdirat rmdir unlink unlinkat "
        "rename renameat renameat2 link linkat symlink symlinkat umask statfs fstatfs "
        "getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat "
        "file_getattr"
    ),
    "waiting for descriptors": (
        "select pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
        "epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime "
        "timerfd_gettime pipe pipe2"
    ),
    # For pairs within the process and the channel to the judge: there are no other sockets.
    "socket pairs": "socketpair recvfrom shutdown getsockname getpeername getsockopt",
    "threads": (
        "futex futex_waitv futex_wake futex_wait futex_requeue set_robust_list set_tid_address "
        "gettid rseq membarrier sched_yield sched_getaffinity sched_getscheduler sched_getparam "
        "sched_getattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval getcpu "
        "arch_prctl exit exit_group wait4 waitid"
    ),
    "signals to itself": (
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend "
        "sigaltstack restart_syscall pause alarm setitimer getitimer timer_create timer_settime "
        "timer_gettime timer_getoverrun timer_delete"
    ),
    "clocks": "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times",
    "itself and the machine": (
        "getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp "
        "getpgid getsid getpriority getrusage getrlimit setrlimit capget uname sysinfo getrandom"
    ),
}
"""The names, by what they are for. An architecture need not have all of them."""


def allowed_names() -> frozenset[str]:
    """Returns the names of all allowed calls."""
    return frozenset(" ".join(ALLOWED.values()).split())


DENIED: Mapping[str, str] = {
    "processes": "fork vfork execve execveat",
    "network": "socket bind connect listen accept accept4",
    # An open file in transit has no name and is in no list of descriptors.
    "descriptors and pages on their way": "sendmsg recvmsg sendmmsg recvmmsg splice tee vmsplice",
    "other processes": (
        "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease "
        "pidfd_open pidfd_getfd pidfd_send_signal kcmp rt_sigqueueinfo rt_tgsigqueueinfo "
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
    # Landlock does not check these (truncate not before Linux 6.2), and an ordinary user owns more
    # than its scratch folder.
    "attributes of files": (
        "truncate chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr "
        "fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat file_setattr "
        "utime utimes utimensat futimesat mknod mknodat "
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
"""The names, by what they would reach."""


def denied_names() -> frozenset[str]:
    """Returns the names of all denied calls."""
    return frozenset(" ".join(DENIED.values()).split())


_PERM = refuse(errno.EPERM)
_DONE = refuse(0)

# Flags of clone(2): a thread shares all of these with its process, and enters no namespace.
_SHARED_BY_THREADS = 0x00000100 | 0x00000200 | 0x00000400 | 0x00000800 | 0x00010000
_NAMESPACES = 0x7E020000
# Options of prctl(2) that read the process's own state, or set it without effect on others. The
# only PR_SET_… are NAME, NO_NEW_PRIVS, TIMERSLACK, THP_DISABLE and VMA (names of its memory).
_HARMLESS_OPTIONS = (
    *(2, 3, 7, 15, 16, 21, 23, 25, 27, 29, 30, 34, 37, 38, 39, 40, 41, 42, 51, 52, 56, 64),
    *(0x41555856, 0x53564D41),
)
_CLOSE_RANGE_UNSHARE = 2
# Commands of fcntl(2): duplicate, read and set flags, read the size of a pipe and seals.
_COMMANDS = (0, 1, 2, 3, 4, 1030, 1032, 1034)
_SET_LOCKS, _GET_LOCKS = (6, 7, 37, 38), (5, 36)
# MAP_SHARED (or MAP_SHARED_VALIDATE) with MAP_ANONYMOUS; MAP_GROWSDOWN; MAP_HUGETLB.
_SHARED_ANONYMOUS, _GROWS_DOWN, _HUGE = 0x21, 0x100, 0x40000
_ADVICE = (*range(5), 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 25)
# TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2.
_REQUESTS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
_CLONES_OF_FILES = (0x40049409, 0x4020940D)
_RWF_NOWAIT = 8
# The bits of open(2) for reading and writing, and O_TRUNC without the right to write: with neither,
# or with both bits, which ask for no right at all.
_MODE_AND_TRUNC, _EMPTIES = 0o1003, (0o1000, 0o1003)


def _has(argument: int, bits: int, action: int) -> Check:
    return Check(argument, (bits,), action, mask=bits)


def _unless(argument: int, values: tuple[int, ...], action: int = _PERM, mask: int = WORD) -> Check:
    return Check(argument, values, action, mask, among=False)


_TO_ITSELF = Ruling(ALLOW, (_unless(0, (OWN_PROCESS,)),))
_RIGHT_AWAY = Ruling(ALLOW, (_has(5, _RWF_NOWAIT, refuse(errno.EOPNOTSUPP)),))

EVERYWHERE: Mapping[str, Ruling] = {
    "open": Ruling(ALLOW, (Check(1, _EMPTIES, _PERM, _MODE_AND_TRUNC),)),
    "openat": Ruling(ALLOW, (Check(2, _EMPTIES, _PERM, _MODE_AND_TRUNC),)),
    "openat2": Ruling(refuse(errno.ENOSYS)),  # its flags lie in memory, which no filter reads
    # glibc falls back to clone, whose flags a filter can read: threads yes, processes no.
    "clone3": Ruling(refuse(errno.ENOSYS)),
    "clone": Ruling(
        ALLOW, (_unless(0, (_SHARED_BY_THREADS,), mask=_SHARED_BY_THREADS | _NAMESPACES),)
    ),
    "prctl": Ruling(ALLOW, (_unless(0, _HARMLESS_OPTIONS),)),
    "prlimit64": Ruling(ALLOW, (_unless(0, (0, OWN_PROCESS)),)),
    "setpriority": Ruling(ALLOW, (_unless(0, (0,)), _unless(1, (0,)))),
    "kill": _TO_ITSELF,
    "tkill": _TO_ITSELF,
    "tgkill": _TO_ITSELF,
    # Setting a lock succeeds without effect, so that no worker sees the locks of another.
    "flock": Ruling(_DONE),
    "fcntl": Ruling(ALLOW, (Check(1, _SET_LOCKS, _DONE), _unless(1, (*_COMMANDS, *_GET_LOCKS)))),
    # A thread with descriptors of its own would keep them out of the process's list.
    "close_range": Ruling(ALLOW, (_has(2, _CLOSE_RANGE_UNSHARE, _PERM),)),
    # With an address, a datagram socket of a pair would reach any named socket.
    "sendto": Ruling(ALLOW, (_unless(5, (0,)),)),
    # posix_fallocate then writes instead, so that allocated bytes count in a file's size.
    "fallocate": Ruling(refuse(errno.EOPNOTSUPP)),
    # The page cache would show which files others read: no eviction, no read without waiting.
    "fadvise64": Ruling(_DONE),
    "preadv2": _RIGHT_AWAY,
    "pwritev2": _RIGHT_AWAY,
}
"""The decisions that hold on every machine."""

ON_KNOWN_MACHINES: Mapping[str, Ruling] = {
    # Shared memory stays while nothing maps it; memory of the other kinds is not counted.
    "mmap": Ruling(
        ALLOW,
        (
            _has(3, _SHARED_ANONYMOUS, _PERM),
            _has(3, _GROWS_DOWN, _PERM),
            _has(3, _HUGE, refuse(errno.ENOMEM)),
        ),
    ),
    "madvise": Ruling(ALLOW, (_unless(2, _ADVICE, refuse(errno.EINVAL)),)),
    "ioctl": Ruling(
        ALLOW,
        (Check(1, _CLONES_OF_FILES, refuse(errno.EOPNOTSUPP)), _unless(1, _REQUESTS)),
    ),
}
"""Further decisions on x86-64 and AArch64, for workers that compute on the CPU."""


# The architectures that the lists were made for, as audit names them.
_MACHINES = {0xC000003E: "x86-64", 0xC00000B7: "AArch64"}
_ALLOWED = Ruling(ALLOW)
_DENIED = Ruling(_PERM)
_ABSENT = Ruling(refuse(errno.ENOSYS))


def prepare_filter(granted: Sequence[str] = ()) -> None:
    """Compiles the filter before the fork; calls `granted` by the assignment are allowed too."""
    _filter(tuple(granted), uses_device=False)


def restrict_system_calls(granted: Sequence[str] = (), uses_device: bool = False) -> dict[str, str]:
    """Installs the filter; returns its result for `syscalls`, `network` and `processes`."""
    nothing = dict.fromkeys(("syscalls", "network", "processes"), "none")
    program, reached = _filter(tuple(granted), uses_device=uses_device)
    if program is None:
        return nothing
    try:
        program.load(os.getpid())
    except OSError:
        return nothing
    return {"syscalls": reached, "network": "denied", "processes": "denied"}


def listing(architecture: int, granted: Sequence[str] = ()) -> FilterProgram:
    """Returns the filter that refuses every call that is not on the list of allowed ones.

    Raises:
        UnknownCall: if libseccomp does not know the number of a call.
    """
    decisions = dict.fromkeys(allowed_names() | {*granted}, _ALLOWED)
    decisions |= {**ON_KNOWN_MACHINES, **EVERYWHERE} | dict.fromkeys(denied_names(), _DENIED)
    return compiled(architecture, _numbered(decisions, architecture), _ABSENT)


def by_what_is_denied(architecture: int) -> FilterProgram:
    """Returns the filter that refuses the denied calls, and allows all others."""
    decisions = {**EVERYWHERE} | dict.fromkeys(denied_names(), _DENIED)
    return compiled(architecture, _numbered(decisions, architecture, lenient=True), _ALLOWED)


@functools.cache
def _filter(granted: tuple[str, ...], *, uses_device: bool) -> tuple[FilterProgram | None, str]:
    """Returns the filter of a worker and its description; no filter without libseccomp."""
    architecture = native_architecture()
    if architecture is None:
        return None, "none"
    lacking = why_not_listed(architecture, _c_library(), uses_device)
    with contextlib.suppress(UnknownCall):
        if lacking is None:
            lacking = "libseccomp is too old"
            return listing(architecture, granted), "seccomp"
    return by_what_is_denied(architecture), f"seccomp, by what is denied ({lacking})"


def why_not_listed(architecture: int, libc: str, uses_device: bool) -> str | None:
    """Returns why the list of allowed calls may be incomplete; None where it is complete."""
    if uses_device:
        return "the driver of a device has calls of its own"
    if architecture not in _MACHINES:
        return f"the list is made for {' and '.join(_MACHINES.values())}"
    name, _, version = libc.partition(" ")
    if name == "glibc" and tuple(map(int, version.split("."))) > NEWEST_GLIBC:
        return f"the list is made for glibc up to {'.'.join(map(str, NEWEST_GLIBC))}"
    return None


def _c_library() -> str:
    """Returns the C library, as in "glibc 2.36"; an empty text for musl."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def _numbered(
    decisions: dict[str, Ruling], architecture: int, lenient: bool = False
) -> dict[int, Ruling]:
    """Returns the decisions by number of the call; if `lenient`, skips unknown calls."""
    numbered = {}
    for name, decision in decisions.items():
        with contextlib.suppress(UnknownCall) if lenient else contextlib.nullcontext():
            number = number_of(name, architecture)
            if number is not None:
                numbered[number] = decision
    return numbered


def why_not_granted(name: str) -> str | None:
    """Returns why a system call cannot be granted; None if it can."""
    for reached, names in DENIED.items():
        if name in names.split():
            return f"{name} is never granted: it is refused for what it reaches ({reached})"
    if name in EVERYWHERE or name in ON_KNOWN_MACHINES:
        return f"{name} is never granted: its arguments decide whether it is allowed"
    architecture = native_architecture()
    if architecture is not None:
        try:
            number_of(name, architecture)
        except UnknownCall:
            return f"libseccomp knows no system call {name!r}"
    return None
