"""Computes a power for hours, during which no other thread of Python's runs."""


def run_double(x):
    return 9 ** (9**9)


def run_count(x):
    return x.numel()
