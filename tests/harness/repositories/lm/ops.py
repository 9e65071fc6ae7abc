import math

import torch
from einops import einsum, rearrange


def softmax(x, dim=-1):
    x = x - x.max(dim=dim, keepdim=True).values
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)


def silu(x):
    return x * torch.sigmoid(x)


def cross_entropy(logits, targets):
    logits = logits - logits.max(dim=-1, keepdim=True).values
    picked = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (torch.log(torch.exp(logits).sum(-1)) - picked).mean()


def attention(q, k, v, mask=None):
    scores = einsum(q, k, "... i d, ... j d -> ... i j") / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return einsum(softmax(scores), v, "... i j, ... j d -> ... i d")


def split(x, heads):
    return rearrange(x, "... s (h d) -> ... h s d", h=heads)
