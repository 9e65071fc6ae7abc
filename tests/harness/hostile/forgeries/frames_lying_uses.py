"""Claims that it used what is forbidden, and what there is not, on lines that do not exist."""

from accomplice import answer, send

USES = [["torch.nope" * 1000, "../../../../etc/passwd", 1], ["\x1b[2J\ud800", "adapters.py\0", 0]]


def run_double(x):
    send(answer(uses=USES * 5000))


def run_count(x):
    send(answer(uses=[["torch.nn.MultiheadAttention", {}, 10**300]]))
