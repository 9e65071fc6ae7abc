"""Kills the process that it was forked from."""

import os
import signal


def run_double(x):
    if os.getppid() > 1:
        os.kill(os.getppid(), signal.SIGKILL)
    return None


def run_count(x):
    return x.numel()
