"""Sends such a text itself: nobody asks whether it may cross."""

import os

from accomplice import answer, own_channel

TEXT = "\U0001f600".encode() + b"a" * (32 << 20)


def run_double(x):
    data = memoryview(answer({"value": {"text": len(TEXT)}}, TEXT))
    while data:
        data = data[os.write(own_channel(), data) :]
    os._exit(0)


def run_count(x):
    return x.numel()
