"""Describes tensors that its bytes cannot hold."""

from accomplice import HINTS, answer, send

LIES = [
    {"dtype": "float32", "shape": [2**40], "offset": 0, "bytes": 16},
    {"dtype": "float32", "shape": [-1], "offset": 0, "bytes": 16},
    {"dtype": "float32", "shape": [2, 3], "strides": [0, 0], "offset": 0, "bytes": 4},
    {"dtype": "float32", "shape": [4], "offset": -8, "bytes": 16},
    {"dtype": "float32", "shape": [4], "offset": 8, "bytes": 16},
    {"dtype": "float32", "shape": [1] * 1000, "offset": 0, "bytes": 4},
    {"dtype": ["float32"], "shape": [4], "offset": 0, "bytes": 16},
    {"dtype": "qint8", "shape": [4], "offset": 0, "bytes": 16},
    {"dtype": "float32", "shape": [True, 4], "offset": 0, "bytes": 16},
    {"dtype": "float32", "shape": [0, 2**28, 2**28, 2**28, 2**28], "offset": 0, "bytes": 0},
]
LIE, OTHER = LIES[2 * HINTS["copy"]], LIES[2 * HINTS["copy"] + 1]


def run_double(x):
    send(answer({"value": LIE}, bytes(16)))


def run_count(x):
    send(answer({"value": OTHER}, bytes(16)))
