"""Stops its process group."""

import os
import signal


def run_double(x):
    os.killpg(0, signal.SIGSTOP)


def run_count(x):
    return x.numel()
