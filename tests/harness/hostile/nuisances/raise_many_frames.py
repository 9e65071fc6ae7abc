"""Raises at the end of a traceback of a hundred thousand frames."""

import sys

sys.setrecursionlimit(200_000)


def down(depth):
    if depth == 0:
        raise ValueError("bottom")
    down(depth - 1)


def run_double(x):
    down(100_000)


def run_count(x):
    return x.numel()
