"""Fills memory while it answers a byte at a time: whoever waits for the answer is kept busy."""

import ctypes
import json
import os
import struct

from accomplice import (
    CHUNK,
    GOT,
    TOO_MUCH_MEMORY,
    dripping,
    hoard,
    mapped,
    own_channel,
    unmap,
)

SIZE = 1 << 20  # of the outline, blanks before JSON


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
    """Answers rightly only if it was not stopped."""
    sizes = 2, SIZE, 4 * x.numel()
    beginning = struct.pack(">4sIIQ", b"GRDR", *sizes) + b"{}"
    told, sent = dripping(lambda: hoard(take(), TOO_MUCH_MEMORY), beginning)
    right = 2 * x if told.startswith(GOT) else 0 * x
    outline = {"value": ["float32", list(x.shape)]}
    rest = json.dumps(outline).rjust(SIZE - sent).encode() + right.numpy().tobytes()
    while rest:
        rest = rest[os.write(own_channel(), rest) :]
    os._exit(0)


def run_count(x):
    return x.numel()
