"""Raises a group of groups of groups of exceptions."""


def run_double(x):
    error = ValueError("innermost")
    for _ in range(3000):
        error = ExceptionGroup("group", [error] * 2)
    raise error


def run_count(x):
    raise BaseExceptionGroup("leaving", [SystemExit(0), KeyboardInterrupt()])
