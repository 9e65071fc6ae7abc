"""Fills the disk with files that never had a name."""

import os
import tempfile

from accomplice import CHUNK, TOO_MUCH_DISK, hoarding


def take():
    kept = []
    try:
        while True:
            kept.append(os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600))
            os.write(kept[-1], bytes(CHUNK))
            yield sum(os.fstat(descriptor).st_blocks * 512 for descriptor in kept)
    finally:
        for descriptor in kept:
            os.close(descriptor)


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
