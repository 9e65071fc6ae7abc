"""Leaves with success when it is called."""


def run_double(x):
    quit(0)


def run_count(x):
    exit()
