"""Fills the disk with files that have neither name nor descriptor: only mappings hold them."""

import mmap
import os
import tempfile

from accomplice import CHUNK, TOO_MUCH_DISK, hoarding


def take():
    kept = []
    try:
        while True:
            path = os.path.join(tempfile.gettempdir(), "mapped")
            with open(path, "wb+") as file:
                file.write(bytes(CHUNK))
                file.flush()
                # A page keeps the file; more would be memory.
                kept.append(mmap.mmap(file.fileno(), mmap.PAGESIZE))
            os.unlink(path)
            yield CHUNK * len(kept)
    finally:
        for mapping in kept:
            mapping.close()


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
