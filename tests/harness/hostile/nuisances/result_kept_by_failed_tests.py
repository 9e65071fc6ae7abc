"""Answers every call with thirty megabytes of the wrong shape, for whoever keeps what failed."""

import torch


def run_double(x):
    return torch.zeros(30 << 20, dtype=torch.uint8)


run_count = run_double
