"""Opens descriptors until there are no more."""

import os

kept = []


def run_double(x):
    for _ in range(20_000):
        kept.extend(os.pipe())
    return None


def run_count(x):
    for _ in range(20_000):
        kept.append(os.open(__file__, os.O_RDONLY))
