"""Kills its process group."""

import os
import signal


def run_double(x):
    os.killpg(0, signal.SIGKILL)


def run_count(x):
    return x.numel()
