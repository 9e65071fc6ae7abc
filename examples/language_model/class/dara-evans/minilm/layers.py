import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self, fan_in, fan_out, **factory):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(fan_out, fan_in, **factory))

    def forward(self, x):
        return torch.einsum("oi,...i->...o", self.weight, x)


class Lookup(nn.Module):
    def __init__(self, rows, width, **factory):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, width, **factory))

    def forward(self, ids):
        return torch.index_select(self.weight, 0, ids.reshape(-1)).view(*ids.shape, -1)


class Norm(nn.Module):
    def __init__(self, width, eps=1e-5, **factory):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width, **factory))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(dim=-1, keepdim=True) + self.eps)
        return (y * self.weight.float()).to(x.dtype)


class Rotary(nn.Module):
    """Pairs of features as complex numbers, times a cached table of unit ones."""

    def __init__(self, width, theta, length):
        super().__init__()
        frequencies = theta ** -(torch.arange(0, width, 2, dtype=torch.float32) / width)
        angles = torch.arange(length, dtype=torch.float32)[:, None] * frequencies[None, :]
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), False)

    def forward(self, x, positions):
        numbers = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
        turned = torch.view_as_real(numbers * self.turns[positions]).flatten(-2)
        return turned.to(x.dtype)


def swish(x):
    return x * torch.sigmoid(x)


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w1 = Dense(width, hidden)
        self.w2 = Dense(hidden, width)
        self.w3 = Dense(width, hidden)

    def forward(self, x):
        return self.w2(swish(self.w1(x)).mul(self.w3(x)))


def stable_softmax(x, dim):
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


def attend(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.einsum("...qk,...kd->...qd", stable_softmax(scores, -1), v)
