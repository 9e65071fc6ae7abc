"""Asks of numbers whether they are those of processes, and what the kernel lists of all."""

import os

from accomplice import HINTS, reading, telling

LISTS = (
    "locks", "mounts", "swaps", "keys", "key-users", "timer_list", "sched_debug", "slabinfo",
    "net/unix", "net/tcp", "sysvipc/shm", "sysvipc/msg", "self/mountinfo", "1/mountinfo",
    "self/net/unix", "thread-self/mounts",
)  # fmt: skip


def look():
    for name in LISTS:
        for content in reading(f"/proc/{name}"):
            if HINTS["marker"].encode() in content or HINTS["tmp"].encode() in content:
                yield f"what {name} says: {content[:60]}"
    near = {*range(max(2, os.getpid() - 200), os.getpid() + 200), HINTS["runner"]}
    alive = [pid for pid in near - {os.getpid(), os.getppid()} if is_there(pid)]
    if alive:
        yield f"{len(alive)} processes of others"


def is_there(pid):
    """Whether there is such a process, and no thread of its own or of its parent's."""
    for ask in (
        lambda: os.stat(f"/proc/{pid}"),
        lambda: os.sched_getaffinity(pid),
        lambda: os.getpriority(os.PRIO_PROCESS, pid),
        lambda: os.getsid(pid),
    ):
        try:
            ask()
        except OSError:
            continue
        return not is_of_its_family(pid)
    return False


def is_of_its_family(pid):
    try:
        return os.getsid(pid) in (os.getsid(0), os.getsid(os.getppid()))
    except OSError:
        return False


run_double, run_count = telling(look)
