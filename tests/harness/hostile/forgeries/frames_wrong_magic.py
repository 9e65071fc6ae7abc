"""Sends bytes that begin as no frame does."""

from accomplice import answer, send


def run_double(x):
    send(b"PASS" + answer({"value": 1})[4:])


run_count = run_double
