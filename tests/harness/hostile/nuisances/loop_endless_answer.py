"""Sends bytes without end."""

from accomplice import send


def run_double(x):
    while True:
        send(bytes(1 << 16), range(3, 32))


def run_count(x):
    while True:
        send(b"GRDR", range(3, 32))
