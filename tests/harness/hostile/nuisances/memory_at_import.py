"""Takes one and a half gigabytes while it is imported, and waits."""

import time

kept = [bytearray(b"x") * (100 << 20) for _ in range(15)]
time.sleep(10)


def run_double(x):
    return None


def run_count(x):
    return x.numel()
