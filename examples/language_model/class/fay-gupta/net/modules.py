"""The model with the layers of torch, under names of my own."""

import torch
from torch import nn


class Feed(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.opens = nn.Linear(d_model, d_ff, bias=False)
        self.passes = nn.Linear(d_model, d_ff, bias=False)
        self.closes = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.closes(nn.functional.silu(self.opens(x)) * self.passes(x))


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.before, self.between = nn.RMSNorm(d_model, 1e-5), nn.RMSNorm(d_model, 1e-5)
        self.attention = nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True)
        self.feed = Feed(d_model, d_ff)

    def forward(self, x):
        seq = x.shape[1]
        hidden = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        normed = self.before(x)
        found, _ = self.attention(normed, normed, normed, attn_mask=hidden, need_weights=False)
        x = x + found
        return x + self.feed(self.between(x))
