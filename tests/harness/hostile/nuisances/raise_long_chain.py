"""Raises an exception that has ten thousand causes, and one that is its own cause."""


def run_double(x):
    error = ValueError("first")
    for number in range(10_000):
        following = ValueError(str(number))
        following.__cause__ = following.__context__ = error
        error = following
    raise error


def run_count(x):
    error, other = ValueError("round"), ValueError("and round")
    error.__cause__, other.__cause__ = other, error
    raise error
