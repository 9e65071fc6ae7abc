"""Fills the disk with files that nobody holds open: they are on their way between two sockets."""

import os
import socket
import tempfile

from accomplice import CHUNK, TOO_MUCH_DISK, hoarding


def take():
    sender, receiver = socket.socketpair()
    sender.setblocking(False)
    count = 0
    try:
        while True:
            path = os.path.join(tempfile.gettempdir(), "in-flight")
            with open(path, "wb", buffering=0) as file:
                os.unlink(path)
                file.write(bytes(CHUNK))
                socket.send_fds(sender, [b"!"], [file.fileno()])
            count += 1
            yield CHUNK * count
    finally:
        sender.close()
        receiver.close()


run_double, run_count = hoarding(take, TOO_MUCH_DISK)
