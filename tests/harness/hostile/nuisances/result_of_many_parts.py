"""Answers with as many parts as may cross: whoever describes or compares them has much to do."""

import torch

DEEP = "x" * 190
for _ in range(28):
    DEEP = [DEEP, {DEEP if isinstance(DEEP, str) else "y" * 190: (1.5, None)}]
WIDE = {f"{number}{'k' * 150}": [number, True] for number in range(20_000)}
ANSWERS = (DEEP, WIDE, [torch.zeros(())] * 60_000, [[[]]] * 80_000, {"a": WIDE})
CALLS = []


def run_double(x):
    CALLS.append(1)
    return ANSWERS[len(CALLS) % len(ANSWERS)]


def run_count(x):
    return x.numel()
