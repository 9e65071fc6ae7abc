"""Says that it was imported, beside a text of which Python takes four times as many bytes."""

import os

from accomplice import frame, own_channel

SIZE = 200 << 20
LAST = "\U0001f600".encode()
REPORT = {"imported": [["run_count", "run_double"], None, [], [], [], [], [], []]}
data = memoryview(frame(REPORT, {"": {"text": SIZE}}, b"a" * (SIZE - len(LAST)) + LAST))
while data:
    data = data[os.write(own_channel(), data) :]


def run_double(x):
    return 2 * x


def run_count(x):
    return x.numel()
