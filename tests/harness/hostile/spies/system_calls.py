"""Tries the system calls that nobody who multiplies matrices needs, with harmless arguments."""

import ctypes
import errno
import platform

from accomplice import LIBC, telling

REFUSED = (errno.EPERM, errno.ENOSYS, errno.EACCES)
NUMBERS = {
    "x86_64": {
        "io_uring_setup": 425, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "unshare": 272, "setns": 308, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "kexec_load": 246, "swapon": 167,
        "init_module": 175, "mount": 165, "pivot_root": 155, "open_by_handle_at": 304,
        "socket": 41, "personality": 135, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
        "pidfd_open": 434, "pidfd_getfd": 438, "clone3": 435, "fanotify_init": 300,
    },
    "aarch64": {
        "io_uring_setup": 425, "keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280,
        "perf_event_open": 241, "userfaultfd": 282, "unshare": 97, "setns": 268, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40, "socket": 198,
        "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180, "pidfd_open": 434,
        "pidfd_getfd": 438, "clone3": 435, "open_by_handle_at": 265,
    },
}  # fmt: skip
# Arguments that no call accepts: a refusal comes before they are looked at.
BAD = ctypes.c_long(-1)


def look():
    for name, number in NUMBERS.get(platform.machine(), {}).items():
        ctypes.set_errno(0)
        result = LIBC.syscall(number, BAD, BAD, BAD, BAD, BAD, BAD)
        if result >= 0 or ctypes.get_errno() not in REFUSED:
            yield f"{name}: {errno.errorcode.get(ctypes.get_errno(), result)}"


run_double, run_count = telling(look)
