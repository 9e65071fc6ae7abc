"""Raises exceptions whose class, traceback and arguments are not what they must be."""


class Broken(Exception):
    __class__ = property(lambda self: 1 / 0)
    args = property(lambda self: 1 / 0)
    __traceback__ = property(lambda self: 1 / 0)

    def __getattribute__(self, name):
        raise SystemExit(0)


def run_double(x):
    raise Broken


def run_count(x):
    return x.numel()
