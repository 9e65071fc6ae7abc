"""Raises exceptions and returns results whose classes have names of megabytes."""

NAME = "N" * (50 << 20)


def run_double(x):
    raise type(NAME, (Exception,), {})("short")


def run_count(x):
    return type(NAME, (), {})()
