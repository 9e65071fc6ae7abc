"""Forks while it is imported; parent and child both go on."""

import os

os.fork()


def run_double(x):
    return None


def run_count(x):
    return x.numel()
