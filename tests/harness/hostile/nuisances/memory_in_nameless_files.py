"""Fills files that live in memory and have no name."""

import os

kept = []


def run_double(x):
    for number in range(15):
        descriptor = os.memfd_create(f"kept-{number}")
        kept.append(descriptor)
        for _ in range(100):
            os.write(descriptor, bytes(1 << 20))
    return None


def run_count(x):
    return x.numel()
