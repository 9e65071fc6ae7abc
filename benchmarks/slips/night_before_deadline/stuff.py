# stuff.py -- little things I keep needing in adapters.py
import torch

NEG = float("-inf")


def sm(x, d=-1):
    # subtract max!! otherwise nan for big numbers
    m = x.max(dim=d, keepdim=True)[0]
    e = torch.exp(x - m)
    z = e.sum(dim=d, keepdim=True)
    return e / z


def tri(n, dev=None):
    r = torch.arange(n, device=dev)
    # row = query, col = key, True = ok to look
    return r.view(n, 1) >= r.view(1, n)


def hide(s, m):
    # m True = allowed, so fill where NOT m
    if m is None:
        return s
    return s.masked_fill(~m, NEG)


def freqs(d, th, dev=None):
    # one freq per pair: th^(-2k/d), k = 0 .. d/2-1
    k = torch.arange(d // 2, device=dev, dtype=torch.float64)
    return th ** (-2 * k / d)


def tables(d, th, n, dev=None):
    # cos and sin for every pos up to n, both (n, d/2)
    t = torch.arange(n, device=dev, dtype=torch.float64)
    a = t[:, None] * freqs(d, th, dev)[None, :]
    return torch.cos(a), torch.sin(a)
