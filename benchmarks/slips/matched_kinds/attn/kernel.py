import math

import torch

from .masks import allowed


def stable_softmax(x, dim):
    moved = x.movedim(dim, -1)
    grown = (moved - moved.max(-1, keepdim=True)[0]).exp()
    return (grown / grown.sum(-1, keepdim=True)).movedim(-1, dim)


def factor(scaling, width):
    match scaling:
        case "root":
            return 1 / math.sqrt(width)
        case "none":
            return 1.0
        case float(number):
            return number


def attention_map(q, k, mask=None, scaling="root"):
    logits = torch.einsum("...id,...jd->...ij", q * factor(scaling, q.shape[-1]), k)
    match allowed(mask, q.shape[-2], k.shape[-2], q.device):
        case None:
            pass
        case seen:
            hidden = ~seen
            logits = logits.masked_fill(hidden, -math.inf)
    return stable_softmax(logits, -1)


def sdpa(q, k, v, mask=None, scaling="root"):
    return torch.einsum("...ij,...jd->...id", attention_map(q, k, mask, scaling), v)


def drop(weights, p):
    dice = torch.rand_like(weights)
    return weights.masked_fill(dice < p, 0.0) / (1 - p)
