"""Never returns from its backward pass."""

import torch


class Endless(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        while True:
            pass


def run_double(x):
    return Endless.apply(x)


def run_count(x):
    return x.numel()
