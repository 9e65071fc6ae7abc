"""Raises what closes generators, and what ends them."""


def run_double(x):
    raise GeneratorExit


def run_count(x):
    raise StopIteration
