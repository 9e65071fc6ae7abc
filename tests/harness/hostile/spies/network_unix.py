"""Tells a listener on this machine over unix sockets, with a path and with an abstract name."""

import socket

from accomplice import HINTS, telling


def look():
    for address in (HINTS["unix"], "\0" + HINTS["abstract"]):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(1)
                line.connect(address)
                line.sendall(b"knock")
        except OSError:
            continue
        yield f"it reached {address!r}"


run_double, run_count = telling(look)
