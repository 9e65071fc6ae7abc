"""Takes a little less than what one call may take, every time."""

import time


def run_double(x):
    time.sleep(1.8)
    return None


def run_count(x):
    time.sleep(1.8)
    return x.numel()
