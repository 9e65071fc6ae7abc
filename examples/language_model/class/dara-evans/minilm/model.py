import torch
from torch import nn

from .layers import Dense, FeedForward, Lookup, Norm, Rotary, attend


class SelfAttention(nn.Module):
    def __init__(self, width, heads, length=None, theta=None):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = Dense(width, width), Dense(width, width)
        self.v_proj, self.output_proj = Dense(width, width), Dense(width, width)
        self.rotary = Rotary(width // heads, theta, length) if theta is not None else None
        self.register_buffer("mask", None, persistent=False)
        if length is not None:
            self.mask = self.triangle(length)

    @staticmethod
    def triangle(length, device=None):
        return torch.ones(length, length, dtype=torch.bool, device=device).tril()

    def split(self, x):
        return torch.stack(x.chunk(self.heads, dim=-1), dim=-3)

    def forward(self, x, positions=None):
        length = x.size(-2)
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        if self.rotary is not None:
            if positions is None:
                positions = torch.arange(length, device=x.device)
            q = self.rotary(q, positions.unsqueeze(-2))
            k = self.rotary(k, positions.unsqueeze(-2))
        mask = self.triangle(length, x.device) if self.mask is None else self.mask
        found = attend(q, k, v, mask[:length, :length])
        return self.output_proj(torch.cat(found.unbind(dim=-3), dim=-1))


class Layer(nn.Module):
    def __init__(self, width, heads, hidden, length, theta):
        super().__init__()
        self.ln1, self.ln2 = Norm(width), Norm(width)
        self.attn = SelfAttention(width, heads, length, theta)
        self.ffn = FeedForward(width, hidden)

    def forward(self, x):
        h = self.attn(self.ln1(x)) + x
        return self.ffn(self.ln2(h)) + h


class Model(nn.Module):
    def __init__(self, vocabulary, length, width, depth, heads, hidden, theta):
        super().__init__()
        self.token_embeddings = Lookup(vocabulary, width)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(Layer(width, heads, hidden, length, theta))
        self.ln_final = Norm(width)
        self.lm_head = Dense(width, vocabulary)

    def forward(self, ids):
        h = self.token_embeddings(ids)
        for layer in self.layers:
            h = layer(h)
        return self.lm_head(self.ln_final(h))


def negative_log_likelihood(scores, wanted):
    logs = scores - torch.logsumexp(scores, dim=-1, keepdim=True)
    return -logs.take_along_dim(wanted[:, None], dim=-1).mean()
