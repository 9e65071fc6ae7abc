"""Answers in megabytes of JSON that mean nothing, which whoever reads them pays for."""

import json
import os
import struct

from accomplice import own_channel

JUNK = json.dumps({"value": None, "junk": {"list": [None] * 200_000}}).encode()


def run_double(x):
    rest = memoryview(struct.pack(">4sIIQ", b"GRDR", 2, len(JUNK), 0) + b"{}" + JUNK)
    while rest:
        rest = rest[os.write(own_channel(), rest) :]
    os._exit(0)


def run_count(x):
    rest = memoryview(struct.pack(">4sIIQ", b"GRDR", len(JUNK), 2, 0) + JUNK + b"{}")
    while rest:
        rest = rest[os.write(own_channel(), rest) :]
    os._exit(0)
