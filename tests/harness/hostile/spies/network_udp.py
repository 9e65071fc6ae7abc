"""Tells a listener on this machine over UDP."""

import socket

from accomplice import HINTS, telling


def look():
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.sendto(b"knock", ("127.0.0.1", HINTS["udp"]))
    except OSError:
        return
    yield "it sent a datagram"


run_double, run_count = telling(look)
