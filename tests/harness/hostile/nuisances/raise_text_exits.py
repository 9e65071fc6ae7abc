"""Raises exceptions that end the process when they are printed."""

import os


class Exit(Exception):
    def __str__(self):
        os._exit(0)


def run_double(x):
    raise Exit


def run_count(x):
    return x.numel()
