"""Fills one and a half gigabytes of tensors."""

import torch

kept = []


def run_double(x):
    for _ in range(15):
        kept.append(torch.ones(100 << 18))
    return None


def run_count(x):
    return x.numel()
