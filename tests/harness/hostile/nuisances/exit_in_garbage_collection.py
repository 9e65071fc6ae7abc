"""Ends its process, or hangs it, when garbage is collected: at the first or the second call."""

import gc
import os
import time

CALLS = []


def collected(phase, info):
    if len(CALLS) == 1:
        os._exit(0)
    while CALLS:
        time.sleep(1)


gc.callbacks.append(collected)
gc.set_threshold(1)


def run_double(x):
    CALLS.append(1)
    return 2 * x


def run_count(x):
    return x.numel()
