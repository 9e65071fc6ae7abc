"""Halves its input in place and returns what it was, the double of what it is."""


def run_double(x):
    before = x.detach().clone()
    x.detach().div_(2)
    return before


def run_count(x):
    x.detach().resize_(0)
    return 0
