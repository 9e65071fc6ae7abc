"""Has blocks allocated beyond the end of a file, which stays empty to all who ask its size."""

import ctypes
import os
import tempfile

from accomplice import CHUNK, LIBC, TOO_MUCH_DISK, hoarding

KEEP_SIZE = 1


def take():
    held = 0
    with tempfile.NamedTemporaryFile() as file:
        while True:
            offset, length = ctypes.c_long(held), ctypes.c_long(CHUNK)
            if LIBC.fallocate(file.fileno(), KEEP_SIZE, offset, length):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            held += CHUNK
            yield os.fstat(file.fileno()).st_blocks * 512


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
