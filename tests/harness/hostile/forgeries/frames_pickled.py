"""Sends pickles that would leave a file behind where they are read."""

import os
import pickle
import struct

from accomplice import HINTS, answer, send


class Bomb:
    def __reduce__(self):
        return os.mkdir, (os.path.join(HINTS["home"], f"{HINTS['marker']}-unpickled"),)


def run_double(x):
    data = pickle.dumps(Bomb())
    send(data)
    send(struct.pack(">4sIIQ", b"GRDR", len(data), 2, 0) + data + b"{}")


def run_count(x):
    data = pickle.dumps(Bomb())
    entry = ["object", [1]]
    send(answer({"value": entry}, data))
