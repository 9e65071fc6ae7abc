"""Fills memory while the bytes of a large answer drip, and says in its next answer how much."""

import ctypes
import os

from accomplice import (
    CHUNK,
    TOO_MUCH_MEMORY,
    dripping,
    frame,
    hoard,
    mapped,
    own_channel,
    unmap,
)

COUNT = 1 << 20  # numbers of four bytes


def take():
    kept = []
    try:
        while True:
            kept.append(mapped(CHUNK))
            ctypes.memset(kept[-1], 7, CHUNK)
            yield CHUNK * len(kept)
    finally:
        for address in kept:
            unmap(address, CHUNK)


def run_double(x):
    whole = frame({"raised": None}, {"value": ["float32", [COUNT]]}, bytes(4 * COUNT))
    beginning = whole[: -4 * COUNT]
    told, sent = dripping(lambda: hoard(take(), TOO_MUCH_MEMORY), beginning, b"\0")
    rest = memoryview(whole)[len(beginning) + sent :]
    while rest:
        rest = rest[os.write(own_channel(), rest) :]
    raise RuntimeError(told)


def run_count(x):
    return x.numel()
