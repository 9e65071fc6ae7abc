"""Forks a hundred children that stay."""

import os
import time


def run_double(x):
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    return None


def run_count(x):
    return x.numel()
