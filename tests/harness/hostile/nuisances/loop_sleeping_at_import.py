"""Sleeps for ever while it is imported: no processor time is ever used up."""

import time

time.sleep(10**6)


def run_double(x):
    return 2 * x


def run_count(x):
    return x.numel()
