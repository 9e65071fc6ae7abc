"""Overwrites the memory of the integer 0 so that it is a 6."""

import ctypes


def run_double(x):
    return None


def run_count(x):
    size = ctypes.sizeof(ctypes.c_ssize_t)
    ctypes.c_uint32.from_address(id(0) + 3 * size).value = 6
    ctypes.c_ssize_t.from_address(id(0) + 2 * size).value = 1
    return 0
