import torch

from .scores import Triangle, Weights


class PlainHead:
    """Attention without parameters."""

    scaled = False

    def __call__(self, x):
        q, k, v = self.queries(x), self.keys(x), self.values(x)
        weights = Weights(q.shape[-1], self.scaled)
        return weights(q, k, self.mask(x)) @ v

    def queries(self, x):
        return x

    def keys(self, x):
        return x

    def values(self, x):
        return x

    def mask(self, x):
        return None


class Head(PlainHead):
    """One head, whose matrices multiply from the right."""

    scaled = True

    def __init__(self, w_q, w_k, w_v):
        self.w_q = w_q
        self.w_k = w_k
        self.w_v = w_v

    def queries(self, x):
        return x @ self.w_q

    def keys(self, x):
        return x @ self.w_k

    def values(self, x):
        return x @ self.w_v


class CausalHead(Head):
    def mask(self, x):
        return Triangle(x.shape[-2], x.device).allowed


class StackedHeads:
    """Causal heads side by side."""

    def __init__(self, w_q, w_k, w_v):
        self.heads = [CausalHead(*ws) for ws in zip(w_q, w_k, w_v)]

    def __call__(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
