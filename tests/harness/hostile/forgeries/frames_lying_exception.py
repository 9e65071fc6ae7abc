"""Claims exceptions of impossible kinds, at impossible lines, in impossible files."""

from accomplice import HINTS, answer, exception, send

FRAMES = [
    [["adapters.py", 10**300, "f", "x"]],
    [["../../../../etc/passwd", 1, "f", "x"]],
    [["adapters.py", -(1 << 70), "f" * 10**5, "x"]],
    [["adapters.py\0\n", 1, {}, []]] * 1000,
]


def raised(number):
    kind = ["NotGraded"] if number % 2 else "\x1b[2J"
    return exception(kind, "\ud800 \0 [red]" * 1000, FRAMES[number])


def run_double(x):
    send(answer(raised=raised(2 * HINTS["copy"])))


def run_count(x):
    send(answer(raised=raised(2 * HINTS["copy"] + 1)))
