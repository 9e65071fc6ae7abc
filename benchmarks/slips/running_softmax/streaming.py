"""Attention that reads the keys in two blocks and never holds all scores at once.

For each query it keeps the largest score so far, the sum of exponentials and the weighted sum of
values, the latter two relative to that largest score.
"""

from dataclasses import dataclass

import torch


def softmax(x, dim):
    largest = torch.amax(x, dim, keepdim=True)
    e = torch.exp(x - largest)
    return e / torch.sum(e, dim, keepdim=True)


def visible(range_of_queries, range_of_keys, device=None):
    q = torch.arange(*range_of_queries, device=device)
    k = torch.arange(*range_of_keys, device=device)
    return q.unsqueeze(1) - k.unsqueeze(0) >= 0


@dataclass
class Stream:
    largest: torch.Tensor
    total: torch.Tensor
    mixture: torch.Tensor

    @classmethod
    def start(cls, queries, d_v):
        rows = queries.shape[:-1]
        lowest = torch.finfo(queries.dtype).min
        return cls(
            largest=queries.new_full((*rows, 1), lowest),
            total=queries.new_zeros((*rows, 1)),
            mixture=queries.new_zeros((*rows, d_v)),
        )

    def read(self, scores, values):
        """What is known after one more block of keys."""
        block_largest = scores.amax(dim=-1, keepdim=True)
        largest = torch.maximum(self.largest, block_largest)
        fade = torch.exp(self.largest - largest)
        powers = torch.exp(scores - largest)
        return Stream(
            largest=largest,
            total=self.total * fade + powers.sum(dim=-1, keepdim=True),
            mixture=self.mixture * fade + powers @ values,
        )

    def finish(self):
        return self.mixture / self.total


def blocks(length):
    """Two ranges of keys; the first is the longer one if the length is odd."""
    middle = length - length // 2
    return [(0, middle), (middle, length)] if length > 1 else [(0, length)]


def attention(q, k, v, mask=None, causal=False):
    n_queries, d_k = q.shape[-2:]
    stream = Stream.start(q, v.shape[-1])
    for first, last in blocks(k.shape[-2]):
        keys, values = k[..., first:last, :], v[..., first:last, :]
        scores = q @ keys.transpose(-1, -2) / d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[..., first:last], -torch.inf)
        if causal:
            seen = visible((0, n_queries), (first, last), q.device)
            scores = scores.masked_fill(~seen, -torch.inf)
        stream = stream.read(scores, values)
    return stream.finish()
