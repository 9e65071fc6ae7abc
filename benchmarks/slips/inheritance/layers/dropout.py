"""Dropout with the two modes of a module."""

import torch


class Dropout:
    training = True

    def __init__(self, p):
        self.p = p

    def eval(self):
        self.training = False
        return self

    def train(self, mode=True):
        if mode:
            self.training = True
            return self
        return self.eval()

    def __call__(self, weights):
        if not self.training:
            return weights
        kept = torch.rand(weights.shape, device=weights.device) >= self.p
        return weights * kept.to(weights.dtype) / (1 - self.p)
