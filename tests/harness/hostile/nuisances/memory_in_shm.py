"""Fills files in /dev/shm, and leaves them there."""

from accomplice import HINTS


def run_double(x):
    for number in range(3):
        with open(f"/dev/shm/{HINTS['marker']}-{number}", "wb") as file:
            for _ in range(100):
                file.write(bytes(1 << 20))
    return None


def run_count(x):
    return x.numel()
