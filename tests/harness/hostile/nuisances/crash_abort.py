"""Aborts, and asks for the largest core dump."""

import os
import resource

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
except (OSError, ValueError):
    pass


def run_double(x):
    os.abort()


def run_count(x):
    return x.numel()
