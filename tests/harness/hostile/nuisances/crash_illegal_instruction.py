"""Ends by signals that processors send."""

import os
import signal

calls = []


def run_double(x):
    calls.append(1)
    for number in (signal.SIGILL, signal.SIGFPE, signal.SIGBUS, signal.SIGSYS):
        os.kill(os.getpid(), number)


def run_count(x):
    return x.numel()
