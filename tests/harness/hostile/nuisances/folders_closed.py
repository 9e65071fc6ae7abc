"""Leaves folders that nobody may list, enter or empty, and writes where it is not seen."""

import os
import tempfile


def run_double(x):
    for mode in (0, 0o100, 0o300, 0o500):
        top = os.path.join(tempfile.gettempdir(), f"closed-{mode}")
        os.umask(0)
        os.mkdir(top, mode)
        try:
            os.makedirs(os.path.join(top, "inner", "innermost"))
            with open(os.path.join(top, "inner", "file"), "wb") as file:
                file.write(bytes(1 << 20))
        except OSError:
            continue
    return None


def run_count(x):
    return x.numel()
