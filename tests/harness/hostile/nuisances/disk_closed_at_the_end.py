"""Leaves with its last answer what nobody may list, enter or empty, when nobody looks any more."""

import os
import tempfile


def run_double(x):
    return None


def run_count(x):
    os.umask(0)
    for mode in (0o000, 0o100, 0o200, 0o300):
        top = os.path.join(tempfile.gettempdir(), f"{mode:o}-{x.dim()}")
        os.mkdir(top, 0o700)
        os.mkdir(os.path.join(top, "inner"), mode)
        os.rename(top, f"{top}-moved")
        os.mkdir(top, mode)
        if mode & 0o300 == 0o300:
            with open(os.path.join(top, "file"), "wb") as file:
                file.write(bytes(1 << 20))
    return x.numel()
