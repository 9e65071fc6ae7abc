"""Sends thirty megabytes that are announced and mean nothing."""

import struct

from accomplice import send


def run_double(x):
    send(struct.pack(">4sIIQ", b"GRDR", 2, 2, 30 << 20) + b"{}{}", range(3, 32))
    for _ in range(30):
        send(bytes(1 << 20), range(3, 32))


def run_count(x):
    return x.numel()
