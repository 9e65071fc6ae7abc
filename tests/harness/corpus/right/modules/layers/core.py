"""The pieces without weights: softmax, mask, scaled dot-product attention."""

import torch
from torch import nn


class Softmax(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x - x.max(dim=self.dim, keepdim=True).values
        numerator = torch.exp(x)
        denominator = numerator.sum(dim=self.dim, keepdim=True)
        return numerator / denominator


class CausalMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        ones = torch.ones(size, size, dtype=torch.bool)
        self.register_buffer("allowed", ones.tril(diagonal=0))

    def forward(self):
        return self.allowed


class ScaledDotProductAttention(nn.Module):
    def __init__(self, d_k):
        super().__init__()
        self.scale = 1.0 / d_k**0.5
        self.softmax = Softmax(dim=-1)

    def weights(self, q, k, mask=None):
        attn = (q @ k.transpose(-1, -2)) * self.scale
        if mask is not None:
            attn = attn.masked_fill(mask.logical_not(), -torch.inf)
        attn = self.softmax(attn)
        return attn

    def forward(self, q, k, v, mask=None):
        attn = self.weights(q, k, mask)
        return attn @ v
