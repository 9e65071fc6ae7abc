"""Tells a listener on this machine over TCP, of both kinds of addresses."""

import socket

from accomplice import HINTS, telling


def look():
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as line:
                line.settimeout(1)
                line.connect((address, HINTS["tcp"]))
                line.sendall(b"knock")
        except OSError:
            continue
        yield f"it reached {address}"


run_double, run_count = telling(look)
