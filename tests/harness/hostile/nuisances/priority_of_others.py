"""Makes the processes of its user, of its parent's group, and its parent wait for all others."""

import errno
import os

from accomplice import GOT, ancestors, winning

LAST = 19


def lower():
    # The lowest that anyone of this user has: nobody waits any longer for being set to it.
    same = os.getpriority(os.PRIO_USER, 0)
    try:
        os.setpriority(os.PRIO_USER, 0, same)
        yield "all processes of its user"
    except OSError as error:
        if error.errno == errno.EACCES:  # it is the kernel that raises nobody's
            yield "all processes of its user, if none were raised by it"
    for pid in ancestors():
        before = os.getpriority(os.PRIO_PROCESS, pid)
        for which, who in ((os.PRIO_PROCESS, pid), (os.PRIO_PGRP, os.getpgid(pid))):
            try:
                os.setpriority(which, who, LAST)
            except OSError:
                continue
        if os.getpriority(os.PRIO_PROCESS, pid) != before:
            yield f"process {pid}, from {before} to {LAST}"


def attempt():
    found = list(lower())
    return f"{GOT}the priority of {found}" if found else "it found nothing"


run_double, run_count = winning(attempt)
