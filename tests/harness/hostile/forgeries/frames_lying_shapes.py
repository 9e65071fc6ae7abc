"""Describes tensors that its bytes cannot hold."""

from accomplice import HINTS, answer, send

LIES = [
    ["float32", [2**40]],
    ["float32", [-1]],
    ["float32", [2, 3], [0, 0]],
    ["float32", [4], [-8]],
    ["float32", [5]],
    ["float32", [1] * 1000],
    [["float32"], [4]],
    ["qint8", [4]],
    ["float32", [True, 4]],
    ["float32", [0, 2**28, 2**28, 2**28, 2**28]],
]
LIE, OTHER = LIES[2 * HINTS["copy"]], LIES[2 * HINTS["copy"] + 1]


def run_double(x):
    send(answer({"value": LIE}, bytes(16)))


def run_count(x):
    send(answer({"value": OTHER}, bytes(16)))
