"""Calls itself until the stack is used up."""

import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __getattr__(self, name):
        return repr(getattr(self, name))


def run_double(x):
    return Deep().anything


def run_count(x):
    return x.numel()
