"""Leaves files wherever it may, under names that trip up whoever cleans up after it."""

import os
import tempfile

from accomplice import HINTS

NAMES = [
    b"-rf", b"*", b"\n", b"\xff\xfe", b"~", b"$HOME", b" ", b"...", b"\x1b[2J",
    b"grader-1-abcdefgh", b"taken-in", b"adapters.py", b"submission", b"lock",
    HINTS["marker"].encode(),
]  # fmt: skip


def run_double(x):
    own = tempfile.gettempdir()
    places = [own, os.getcwd(), ".", os.path.dirname(own), os.path.dirname(os.path.dirname(own))]
    for place in [*places, os.path.dirname(os.getcwd()), HINTS["tmp"], "/tmp", "/dev/shm", "/"]:
        for name in NAMES:
            path = os.path.join(os.fsencode(place), name)
            for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/", path)):
                try:
                    make(path)
                    break
                except OSError:
                    continue
    return None


def run_count(x):
    return x.numel()
