"""Fills the disk with files so deep that no path is long enough to name them."""

import os
import tempfile

from accomplice import CHUNK, TOO_MUCH_DISK, hoarding

NAME = "d" * 255  # 17 of these are longer than any path may be


def take():
    here = os.open(tempfile.gettempdir(), os.O_RDONLY)
    held = 0
    try:
        for _ in range(40):
            os.mkdir(NAME, dir_fd=here)
            below = os.open(NAME, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        while True:
            name = str(held)
            file = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here)
            held += os.write(file, bytes(CHUNK))
            os.close(file)
            yield held
    finally:
        for name in os.listdir(here):
            os.unlink(name, dir_fd=here)
        os.close(here)


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
