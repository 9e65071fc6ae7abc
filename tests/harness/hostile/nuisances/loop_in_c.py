"""Sleeps in C, with the interpreter's lock in its hands."""

import ctypes


def run_double(x):
    ctypes.PyDLL(None).sleep(1000)


def run_count(x):
    return x.numel()
