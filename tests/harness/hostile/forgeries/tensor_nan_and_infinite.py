"""Not-a-number, of which no error can be told, and infinity."""

import math


def run_double(x):
    return x * math.nan if x.ndim == 2 else x / 0


def run_count(x):
    return math.nan
