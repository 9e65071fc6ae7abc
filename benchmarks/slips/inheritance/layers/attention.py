"""What all kinds of attention have in common."""

import math

import torch


class Attention:
    """The steps in their order; subclasses say what is special about one of them."""

    def project(self, query, key, value):
        return query, key, value

    def place(self, q, k):
        """Tells queries and keys where they stand."""
        return q, k

    def mask(self, q, k):
        """True where a query may look, or None."""
        return None

    def combine(self, context):
        return context

    def temperature(self, q):
        return math.sqrt(q.shape[-1])

    def weights(self, q, k):
        scores = q @ k.transpose(-2, -1) / self.temperature(q)
        mask = self.mask(q, k)
        if mask is not None:
            scores.masked_fill_(~mask, float("-inf"))
        return scores.softmax(dim=-1)

    def __call__(self, query, key=None, value=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self.project(query, key, value)
        q, k = self.place(q, k)
        return self.combine(self.weights(q, k) @ v)


class Unscaled(Attention):
    def temperature(self, q):
        return 1.0


class GivenMask(Attention):
    def __init__(self, mask):
        self.given = mask

    def mask(self, q, k):
        return self.given


class Causal(Attention):
    """Mixed into others: nobody looks ahead."""

    def mask(self, q, k):
        shape = q.shape[-2], k.shape[-2]
        return torch.ones(shape, dtype=torch.bool, device=q.device).tril()
