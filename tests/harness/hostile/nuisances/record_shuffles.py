"""Is wrong by two thousand steps that have the right numbers, in orders that nobody asked for."""

import torch


def run_double(x):
    right = (2 * x).reshape(-1)
    for _ in range(1900):
        right = right[torch.randperm(right.numel())].reshape(1, -1, 1).reshape(-1)
    return 3 * x


def run_count(x):
    for number in range(3000):
        x = x[torch.randperm(len(x))]
    return 0
