"""Leaves 1,500 folders inside one another where it may write, and is told that it may not."""

import os
import tempfile
import time


def run_double(x):
    before = os.open(".", os.O_RDONLY)
    os.chdir(tempfile.gettempdir())
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    os.fchdir(before)
    os.close(before)
    time.sleep(0.2)
    return None


def run_count(x):
    return x.numel()
