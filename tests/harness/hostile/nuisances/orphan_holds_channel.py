"""Leaves a grandchild in a session of its own that holds every pipe open."""

import os
import time


def run_double(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(20)
        os._exit(0)
    os._exit(0)


def run_count(x):
    return x.numel()
