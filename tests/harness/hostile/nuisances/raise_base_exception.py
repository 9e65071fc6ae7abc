"""Raises what nobody is meant to catch."""


def run_double(x):
    raise BaseException("everything")


def run_count(x):
    return x.numel()
