"""One head at a time."""

from math import sqrt

import torch


def softmax(x, dim):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def causal_mask(n, device=None):
    return torch.tensor([[key <= query for key in range(n)] for query in range(n)], device=device)


def weights(Q, K, mask=None):
    d = Q.shape[-1]
    scores = torch.einsum("...qd,...kd->...qk", Q, K) / sqrt(d)
    if mask is not None:
        scores = scores.where(mask, torch.tensor(float("-inf"), dtype=scores.dtype))
    return softmax(scores, -1)


def attend(Q, K, V, mask=None):
    return torch.einsum("...qk,...kv->...qv", weights(Q, K, mask), V)


def attend_with(matrices, x, causal=False):
    q, k, v = (torch.einsum("...td,de->...te", x, W) for W in matrices)
    return attend(q, k, v, causal_mask(x.shape[-2], x.device) if causal else None)
