"""Fills the disk with files in folders that may be written to and entered, but not listed."""

import os
import tempfile

from accomplice import CHUNK, TOO_MUCH_DISK, hoarding


def take():
    os.umask(0)
    top = os.path.join(tempfile.gettempdir(), "closed")
    written = []
    os.mkdir(os.path.join(tempfile.gettempdir(), "shut"), 0)
    os.mkdir(top, 0o300)
    try:
        while True:
            written.append(os.path.join(top, str(len(written))))
            with open(written[-1], "wb") as file:
                file.write(bytes(CHUNK))
            yield CHUNK * len(written)
    finally:
        for path in written:
            os.unlink(path)


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
