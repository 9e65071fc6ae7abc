"""Raises exceptions whose text never returns."""


class Endless(Exception):
    def __str__(self):
        while True:
            pass

    __repr__ = __str__


def run_double(x):
    raise Endless


def run_count(x):
    return x.numel()
