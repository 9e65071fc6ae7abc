"""Attention as modules: each head owns three small linear layers of its own."""

import torch
from torch import nn


def softmax(x, dim):
    top = x.amax(dim=dim, keepdim=True)
    powers = torch.exp(x - top)
    return powers / powers.sum(dim=dim, keepdim=True)


def causal(length):
    return torch.ones(length, length).tril().bool()


def attend(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -torch.inf)
    return torch.matmul(softmax(scores, -1), v)


def linear_with(weight):
    """A linear layer without bias that has this weight."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    layer.weight = nn.Parameter(weight)
    return layer


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, weights):
        if not self.training:
            return weights
        kept = torch.rand_like(weights) >= self.p
        return weights * kept / (1 - self.p)


class Rotary(nn.Module):
    """Turns neighbouring features by an angle that grows with the position."""

    def __init__(self, width, theta):
        super().__init__()
        self.width = width
        self.theta = theta

    def angles(self, positions):
        even = torch.arange(0, self.width, 2, device=positions.device)
        frequencies = self.theta ** (-even.double() / self.width)
        return positions.double()[..., None] * frequencies

    def forward(self, x, positions):
        angles = self.angles(positions)
        cos = angles.cos().to(x.dtype)
        sin = angles.sin().to(x.dtype)
        pairs = x.unflatten(-1, (self.width // 2, 2))
        first, second = pairs[..., 0], pairs[..., 1]
        turned_first = first * cos - second * sin
        turned_second = first * sin + second * cos
        return torch.stack([turned_first, turned_second], dim=-1).flatten(-2)


class Head(nn.Module):
    """One head: projects, turns (if it is given a rotation) and attends."""

    def __init__(self, d_in, d_head, is_causal=True, rotary=None):
        super().__init__()
        self.query = nn.Linear(d_in, d_head, bias=False)
        self.key = nn.Linear(d_in, d_head, bias=False)
        self.value = nn.Linear(d_in, d_head, bias=False)
        self.is_causal = is_causal
        self.rotary = rotary

    def load(self, w_query, w_key, w_value):
        self.query = linear_with(w_query)
        self.key = linear_with(w_key)
        self.value = linear_with(w_value)

    def forward(self, query, key, value, positions=None):
        q = self.query(query)
        k = self.key(key)
        v = self.value(value)
        if self.rotary is not None:
            q = self.rotary(q, positions)
            k = self.rotary(k, positions)
        mask = causal(q.shape[-2]).to(q.device) if self.is_causal else None
        return attend(q, k, v, mask)


class MultiHead(nn.Module):
    """All heads in a list, and the layer that mixes what they say."""

    def __init__(self, d_model, num_heads, is_causal=True, rotary=None):
        super().__init__()
        self.d_head = d_model // num_heads
        self.heads = nn.ModuleList(
            Head(d_model, self.d_head, is_causal, rotary) for _ in range(num_heads)
        )
        self.output = nn.Linear(d_model, d_model, bias=False)
        self.rotary = rotary

    def load(self, w_query, w_key, w_value, w_output):
        for index, head in enumerate(self.heads):
            start = index * self.d_head
            stop = start + self.d_head
            head.load(w_query[start:stop], w_key[start:stop], w_value[start:stop])
        self.output = linear_with(w_output)

    def forward(self, query, key=None, value=None, positions=None):
        if key is None:
            key = query
        if value is None:
            value = key
        if self.rotary is not None and positions is None:
            positions = torch.arange(query.shape[-2], device=query.device)
        spoken = [head(query, key, value, positions) for head in self.heads]
        return self.output(torch.cat(spoken, dim=-1))


def count_parameters(d_in, d_out, qkv_bias, out_bias):
    layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
    layers.append(nn.Linear(d_out, d_out, bias=out_bias))
    return sum(weight.numel() for layer in layers for weight in layer.parameters())
