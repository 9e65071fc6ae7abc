"""Shares its hunger among children."""

import os
import time


def run_double(x):
    for _ in range(5):
        if os.fork() == 0:
            kept = bytearray(b"x") * (300 << 20)
            time.sleep(10)
            os._exit(len(kept) % 2)
    time.sleep(3)
    return None


def run_count(x):
    return x.numel()
