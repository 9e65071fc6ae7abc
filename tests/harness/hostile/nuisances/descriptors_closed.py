"""Closes every descriptor that it has."""

import os


def run_double(x):
    os.closerange(0, 4096)


def run_count(x):
    return x.numel()
