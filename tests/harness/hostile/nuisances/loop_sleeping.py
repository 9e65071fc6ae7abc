"""Sleeps for a year."""

import time


def run_double(x):
    time.sleep(365 * 24 * 3600)


def run_count(x):
    return x.numel()
