"""System calls that Python, torch and what classes import with them need, whatever the arguments.

Recorded from what `tests/harness/ordinary_uses.py` does, and added to by what other C libraries and
processors use in their place. What is on no list does not exist for a submission (ENOSYS), as on an
older kernel: C libraries have another way then.
"""

from __future__ import annotations

from collections.abc import Mapping

NEWEST_GLIBC = (2, 43)
"""The newest C library that the list was made for."""

ALLOWED: Mapping[str, str] = {
    "memory": (
        "brk munmap mprotect mremap msync mlock mlock2 munlock mlockall munlockall mseal "
        "map_shadow_stack pkey_alloc pkey_free pkey_mprotect mbind get_mempolicy"
    ),
    "open files": (
        "open openat openat2 creat close read write readv writev pread64 pwrite64 preadv pwritev "
        "lseek dup dup2 dup3 fsync fdatasync sync_file_range truncate ftruncate "
        "sendfile copy_file_range"
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
    # Pairs within the process, and the channel to the judge: no other socket can be had.
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
    "clocks": ("clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times"),
    "itself and the machine": (
        "getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp "
        "getpgid getsid getpriority getrusage getrlimit setrlimit capget uname sysinfo getrandom"
    ),
}
"""The names, by what they are for. An architecture need not have all of them."""


def allowed_names() -> frozenset[str]:
    """The names of all of them."""
    return frozenset(" ".join(ALLOWED.values()).split())
