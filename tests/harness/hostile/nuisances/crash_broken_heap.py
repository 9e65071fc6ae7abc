"""Gives back memory that it never had."""

import ctypes


def run_double(x):
    ctypes.CDLL(None).free(ctypes.c_void_p(id(x) + 8))


def run_count(x):
    return x.numel()
