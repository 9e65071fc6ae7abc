"""Stops itself, and waits to be woken."""

import os
import signal


def run_double(x):
    os.kill(os.getpid(), signal.SIGSTOP)


def run_count(x):
    return x.numel()
