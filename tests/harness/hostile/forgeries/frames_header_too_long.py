"""Announces a header of four billion bytes."""

import struct

from accomplice import send


def run_double(x):
    send(struct.pack(">4sIQ", b"GRDR", 0xFFFFFFFF, 0) + bytes(1000))


run_count = run_double
