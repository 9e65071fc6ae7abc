"""Fills the disk with files that have no name any more, and keeps them open."""

import os
import tempfile

from accomplice import CHUNK, TOO_MUCH_DISK, hoarding


def take():
    kept = []
    try:
        while True:
            path = os.path.join(tempfile.gettempdir(), "unlinked")
            kept.append(open(path, "wb", buffering=0))
            os.unlink(path)
            kept[-1].write(bytes(CHUNK))
            yield sum(os.fstat(file.fileno()).st_blocks * 512 for file in kept)
    finally:
        for file in kept:
            file.close()


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
