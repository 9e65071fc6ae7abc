"""Makes itself the one that orphans go to, and hides a tree of them below it."""

import ctypes
import os
import time


def run_double(x):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        for _ in range(5):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(20)
                os._exit(0)
        time.sleep(20)
        os._exit(0)
    os._exit(0)


def run_count(x):
    return x.numel()
