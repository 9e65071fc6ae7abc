"""System calls that a submission is told that it may not make, whatever the arguments."""

from __future__ import annotations

from collections.abc import Mapping

DENIED: Mapping[str, str] = {
    "processes": "fork vfork execve execveat",
    "network": "socket bind connect listen accept accept4",
    # An open file that is on its way has no name and is in no list of descriptors.
    "descriptors and pages on their way": ("sendmsg recvmsg sendmmsg recvmmsg splice tee vmsplice"),
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
    # Landlock does not look at these, and an ordinary user owns more than its scratch folder.
    "attributes of files": (
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr "
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
    """The names of all of them."""
    return frozenset(" ".join(DENIED.values()).split())
