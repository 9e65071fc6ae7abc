"""Looks whether it may still do what only a superuser or an owner may."""

import os
import socket

from accomplice import LIBC, reading, telling

CLONE_NEWUSER, PR_GET_NO_NEW_PRIVS = 0x10000000, 39
OTHER = 12345


def look():
    for status in reading("/proc/self/status"):
        for line in status.decode().splitlines():
            if line.startswith(("CapEff", "CapPrm", "CapInh")) and int(line.split()[1], 16):
                yield line
    if os.getgroups() and os.getgroups() != [os.getgid()]:
        yield f"it is in the groups {os.getgroups()}"
    for name, call in {
        "setuid": lambda: os.setresuid(-1, OTHER, -1),
        "setgid": lambda: os.setresgid(-1, OTHER, -1),
        "setgroups": lambda: os.setgroups([OTHER]),
        "sethostname": lambda: socket.sethostname(os.uname().nodename),
        "chown": lambda: os.chown(__file__, OTHER, OTHER),
        "nice": lambda: os.nice(-1),
    }.items():
        try:
            call()
        except OSError:
            continue
        yield f"{name} succeeded"
    if LIBC.unshare(CLONE_NEWUSER) == 0:
        yield "it has a user namespace of its own"
    if LIBC.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0:
        yield "programs that it starts may have more rights than it"


run_double, run_count = telling(look)
