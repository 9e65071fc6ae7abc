"""Gives wrong answers whose way, it claims, led over steps and lines that cannot be."""

from accomplice import HINTS, answer, send, zeros

ENTRY, DATA = zeros(2, 3)
LINE = ["adapters.py", 1, "return x"]
LIES = [
    {"stacks": [[LINE]], "places": [5]},
    {"stacks": [[LINE]], "places": [-1]},
    {"stacks": [[["/etc/passwd", 10**30, "x"]]], "places": [0]},
    {"stacks": [[LINE] * 5_000], "places": [0] * 10_000},
    {"stacks": [[["\x1b[2J" * 999, 1, "::error::" * 9999]]], "places": [0]},
    {"stacks": {"0": [LINE]}, "places": 3},
    [1, 2, 3],
    "records",
]
LIE, OTHER = LIES[2 * HINTS["copy"]], LIES[2 * HINTS["copy"] + 1]


def run_double(x):
    send(answer({"value": ENTRY, "record.0": ENTRY}, DATA + DATA, records=LIE))


def run_count(x):
    send(answer({"value": 0, "record.0": ENTRY}, DATA, records=OTHER))
