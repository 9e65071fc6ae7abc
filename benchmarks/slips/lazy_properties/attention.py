"""Attention that is worked out when somebody asks for a part of it."""

from functools import cached_property

import torch

from positions import Turned


def causal_mask(length, device=None):
    order = torch.arange(length, device=device)
    return order[:, None] >= order[None, :]


class Softmax:
    def __init__(self, logits, dim):
        self.logits = logits
        self.dim = dim

    @cached_property
    def peak(self):
        return self.logits.amax(self.dim, keepdim=True)

    @cached_property
    def unnormalised(self):
        return (self.logits - self.peak).exp()

    @property
    def shares(self):
        return self.unnormalised / self.unnormalised.sum(self.dim, keepdim=True)


class Attention:
    def __init__(self, q, k, v=None, mask=None, temperature=None):
        self.q = q
        self.k = k
        self.v = v
        self.mask = mask
        self.temperature = temperature or self.d_k**0.5

    @property
    def d_k(self):
        return self.q.size(-1)

    @cached_property
    def logits(self):
        return (self.q @ self.k.mT) / self.temperature

    @cached_property
    def visible_logits(self):
        if self.mask is None:
            return self.logits
        return self.logits.masked_fill(torch.logical_not(self.mask), -torch.inf)

    @cached_property
    def weights(self):
        return Softmax(self.visible_logits, dim=-1).shares

    @property
    def result(self):
        return self.weights @ self.v


class StackedHeads:
    """Every head has matrices of its own, (heads, d_in, d_head)."""

    def __init__(self, x, w_query, w_key, w_value):
        self.x = x
        self.w_query = w_query
        self.w_key = w_key
        self.w_value = w_value

    def projected(self, weight):
        return self.x.unsqueeze(-3) @ weight

    @property
    def attention(self):
        mask = causal_mask(self.x.size(-2), self.x.device)
        q, k = self.projected(self.w_query), self.projected(self.w_key)
        return Attention(q, k, self.projected(self.w_value), mask)

    @property
    def result(self):
        return torch.cat(self.attention.result.unbind(-3), dim=-1)


class MultiHead:
    def __init__(self, inputs, weights, heads, is_causal=True, waves=None):
        self.query, self.key, self.value = inputs
        self.w_query, self.w_key, self.w_value, self.w_output = weights
        self.heads = heads
        self.is_causal = is_causal
        self.waves = waves

    def in_heads(self, x, weight):
        projected = x @ weight.mT
        return torch.stack(projected.chunk(self.heads, dim=-1), dim=-3)

    def placed(self, x):
        return x if self.waves is None else Turned(x, self.waves).result

    @cached_property
    def q(self):
        return self.placed(self.in_heads(self.query, self.w_query))

    @cached_property
    def k(self):
        return self.placed(self.in_heads(self.key, self.w_key))

    @cached_property
    def v(self):
        return self.in_heads(self.value, self.w_value)

    @property
    def mask(self):
        return causal_mask(self.query.size(-2), self.query.device) if self.is_causal else None

    @property
    def contexts(self):
        return Attention(self.q, self.k, self.v, self.mask).result

    @property
    def result(self):
        together = torch.cat(self.contexts.unbind(-3), dim=-1)
        return together @ self.w_output.mT
