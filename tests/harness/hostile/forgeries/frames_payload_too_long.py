"""Announces a payload of 2^63 bytes."""

import struct

from accomplice import send


def run_double(x):
    send(struct.pack(">4sIIQ", b"GRDR", 2, 2, 1 << 63) + b"{}{}")


run_count = run_double
