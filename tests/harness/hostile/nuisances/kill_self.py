"""Kills itself."""

import os
import signal


def run_double(x):
    os.kill(os.getpid(), signal.SIGKILL)


def run_count(x):
    return x.numel()
