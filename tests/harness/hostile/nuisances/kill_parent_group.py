"""Kills the process group of the process that it was forked from."""

import os
import signal


def run_double(x):
    parent = os.getppid()
    if parent > 1 and os.getpgid(parent) == parent:
        os.killpg(parent, signal.SIGKILL)
    return None


def run_count(x):
    return x.numel()
