"""Announces a header of four billion bytes."""

import struct

from accomplice import send


def run_double(x):
    send(struct.pack(">4sIIQ", b"GRDR", 0xFFFFFFFF, 2, 0) + bytes(1000))


run_count = run_double
