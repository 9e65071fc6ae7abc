"""Fills pipes and sockets beside all the memory that it may have: their pages are the kernel's."""

import fcntl
import os
import socket

from accomplice import MEMORY, TOO_MUCH_MEMORY, hoarding

F_SETPIPE_SZ = 1031


def take():
    kept, held = [bytearray(b"x") * (MEMORY * 3 // 4)], MEMORY * 3 // 4
    opened = []
    try:
        for _ in range(120):
            reading, writing = os.pipe2(os.O_NONBLOCK)
            opened += [reading, writing]
            try:
                fcntl.fcntl(writing, F_SETPIPE_SZ, 1 << 20)
            except OSError:
                pass
            held += filled(lambda data, to=writing: os.write(to, data))
            yield held
        while opened:
            os.close(opened.pop())
        for _ in range(120):
            one, other = socket.socketpair()
            kept += [one, other]
            for end in (one, other):
                end.setblocking(False)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
                held += filled(end.send)
            yield held
    finally:
        for descriptor in opened:
            os.close(descriptor)
        kept.clear()


def filled(write):
    count = 0
    try:
        while True:
            count += write(bytes(1 << 16))
    except OSError:
        return count


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
