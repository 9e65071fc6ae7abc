"""Makes a socket of those that it has: unconnects its channel and connects it elsewhere."""

import os
import socket

from accomplice import HINTS, telling


def look():
    for number in range(3, 64):
        try:
            copy = socket.socket(fileno=os.dup(number))
        except OSError:
            continue
        with copy:
            for address in ("\0" + HINTS["abstract"], HINTS["unix"], ("127.0.0.1", HINTS["tcp"])):
                try:
                    copy.connect(address)
                    copy.sendall(b"knock")
                except (OSError, TypeError):
                    continue
                yield f"descriptor {number} reached {address!r}"


run_double, run_count = telling(look)
