"""Asks, without sending any, which processes a signal of its would reach."""

import os

from accomplice import HINTS, ancestors, telling


def look():
    near = range(max(2, os.getppid() - 50), os.getpid() + 50)
    for pid in {*ancestors(), *near, HINTS["runner"], 1} - {os.getpid()}:
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        yield f"process {pid} can be signalled"


run_double, run_count = telling(look)
