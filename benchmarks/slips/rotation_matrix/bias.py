"""Masks as numbers that are added to the scores: 0 where one may look, minus infinity elsewhere."""

import torch


def from_mask(mask, dtype):
    bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return bias.masked_fill(mask.logical_not(), -torch.inf)


def causal(n, dtype=torch.float32, device=None):
    forbidden = torch.full((n, n), -torch.inf, dtype=dtype, device=device)
    return torch.triu(forbidden, diagonal=1)


def none():
    return 0.0
