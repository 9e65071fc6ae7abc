"""Sends half a frame and ends."""

import os

from accomplice import answer, send, zeros


def run_double(x):
    entry, payload = zeros(*x.shape)
    data = answer({"value": entry}, payload)
    send(data[: len(data) // 2])
    os._exit(0)


run_count = run_double
