"""Matches a pattern that takes ages, during which no handler of a signal runs."""

import re


def run_double(x):
    return re.match(r"(a+)+$", "a" * 60 + "b")


def run_count(x):
    return x.numel()
