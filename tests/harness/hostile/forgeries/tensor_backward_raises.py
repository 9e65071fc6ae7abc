"""A tensor whose backward pass leaves."""

import torch


class Exit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise SystemExit(0)


def run_double(x):
    return Exit.apply(x)


def run_count(x):
    return None
