"""Raises exceptions that raise when they are printed."""


class Unprintable(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


def run_double(x):
    raise Unprintable(Unprintable())


def run_count(x):
    return x.numel()
