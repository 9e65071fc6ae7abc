"""The references."""

import itertools
from collections import Counter

import torch

from adapters import Split


def run_counts(text):
    return dict(Counter(text.split()))


def run_tokens(data):
    return list(data)


def run_pairs(ids):
    return list(itertools.pairwise(ids))


def run_split(corpus, share):
    at = int(len(corpus) * share)
    return Split(corpus[:at], corpus[at:], share)


def run_layers(weights, x):
    scale, shift = weights["scale"], weights["shift"]
    return x * scale + shift, {"scale": scale, "shift": shift}


def run_vocabulary(words, special=None):
    return {word.encode() for word in (*words, *(special or ()))}


def run_rate(step, kind, floor):
    rate = 1.0 if kind == "constant" else 1 / (step + 1)
    return rate if floor is None else max(rate, floor)


def run_precision(name, device):
    dtype = getattr(torch, name)
    return dtype, device.type == "cuda" or dtype is torch.float32


def run_merges(merges):
    return [left + right for left, right in sorted(merges, key=merges.get)]


def run_gains(losses):
    if len(losses) < 2:
        return None
    return [before - after for before, after in itertools.pairwise(losses)]
