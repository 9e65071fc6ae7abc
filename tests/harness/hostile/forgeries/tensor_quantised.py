"""A quantised tensor, and one of bits."""

import torch


def run_double(x):
    return torch.quantize_per_tensor(x.detach(), 0.1, 0, torch.qint8)


def run_count(x):
    return torch.zeros(3, dtype=torch.uint8).view(torch.bits8)
