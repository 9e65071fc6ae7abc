"""Asks for a socket of every family, kind and protocol there is; sends nothing."""

import socket

from accomplice import telling


def look():
    for family in range(1, 46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
            except OSError:
                continue
            yield f"a socket of family {family} and kind {int(kind)}"


run_double, run_count = telling(look)
