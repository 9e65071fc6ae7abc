"""Gives wrong answers whose way, it claims, led over steps and lines that cannot be."""

from accomplice import HINTS, answer, send, zeros

ENTRY, DATA = zeros(2, 3)
LINE = ["adapters.py", 1, "return x"]
LIES = [
    {"lines": [LINE], "stacks": [[0]], "places": [5]},
    {"lines": [LINE], "stacks": [[-1]], "places": [0]},
    {"lines": [["/etc/passwd", 10**30, "x"]], "stacks": [[0]], "places": [0]},
    {"lines": [LINE], "stacks": [[0] * 10_000], "places": [0] * 10_000},
    {"lines": [["\x1b[2J" * 999, 1, "::error::" * 9999]], "stacks": [[0]], "places": [0]},
    {"lines": LINE, "stacks": {"0": 0}, "places": 3},
    [1, 2, 3],
    "records",
]
LIE, OTHER = LIES[2 * HINTS["copy"]], LIES[2 * HINTS["copy"] + 1]


def run_double(x):
    send(answer({"value": ENTRY, "record.0": ENTRY}, DATA + DATA, records=LIE))


def run_count(x):
    send(answer({"value": 0, "record.0": ENTRY}, DATA, records=OTHER))
