"""Looks for descriptors that it was left: all but the standard streams and one channel."""

import os
import stat

from accomplice import telling


def look():
    sockets = 0
    for number in range(3, 1024):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        if stat.S_ISSOCK(mode):
            sockets += 1
        elif stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode):
            yield f"descriptor {number} is open: {os.fstat(number)}"
    if sockets > 1:
        yield f"it has {sockets} sockets"


run_double, run_count = telling(look)
