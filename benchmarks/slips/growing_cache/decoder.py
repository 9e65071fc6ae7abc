"""Causal attention as in generation: tokens come block by block, and what came is remembered.

A block asks a memory that ends with the block itself, so the first query of a block may see
everything that is older than the block, and the next ones a token more each.
"""

import torch


def softmax(x, dim):
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim, keepdim=True)


def attend(queries, keys, values, mask=None):
    scores = queries @ keys.transpose(-2, -1)
    scores = scores / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return softmax(scores, dim=-1) @ values


def two_blocks(length):
    middle = (length + 1) // 2
    return slice(0, middle), slice(middle, length)


class Memory:
    """The keys and values of all tokens so far, (..., heads, tokens, d_head)."""

    def __init__(self):
        self.keys = None
        self.values = None

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[-2]

    def add(self, keys, values):
        if self.keys is None:
            self.keys, self.values = keys, values
        else:
            self.keys = torch.cat([self.keys, keys], dim=-2)
            self.values = torch.cat([self.values, values], dim=-2)

    def seen_by_last(self, count):
        """(count, tokens): what each of the youngest tokens may see of all tokens."""
        older = len(self) - count
        seen = torch.ones(count, len(self), dtype=torch.bool, device=self.keys.device)
        return seen.tril(diagonal=older)


class Decoder:
    def __init__(self, w_query, w_key, w_value, heads=1, rotation=None):
        self.w_query = w_query
        self.w_key = w_key
        self.w_value = w_value
        self.heads = heads
        self.rotation = rotation
        self.memory = Memory()

    def split(self, x):
        x = x.view(*x.shape[:-1], self.heads, x.shape[-1] // self.heads)
        return x.transpose(-3, -2)

    def merge(self, x):
        return x.transpose(-3, -2).flatten(start_dim=-2)

    def rotate(self, x, positions):
        if self.rotation is None:
            return x
        return self.rotation.apply(x, positions.unsqueeze(-2))

    def remember(self, key_tokens, value_tokens, positions=None):
        keys = self.rotate(self.split(key_tokens @ self.w_key), positions)
        values = self.split(value_tokens @ self.w_value)
        self.memory.add(keys, values)

    def ask(self, tokens, positions=None, causal=False):
        queries = self.rotate(self.split(tokens @ self.w_query), positions)
        mask = self.memory.seen_by_last(queries.shape[-2]) if causal else None
        return self.merge(attend(queries, self.memory.keys, self.memory.values, mask))

    def read_pairs(self, queries, keys, values, positions=None):
        """One block after the other: first it is remembered, then it asks."""
        if positions is None:
            positions = torch.arange(queries.shape[-2], device=queries.device)
        self.memory = Memory()
        answers = []
        for here in two_blocks(queries.shape[-2]):
            self.remember(keys[..., here, :], values[..., here, :], positions[..., here])
            answers.append(self.ask(queries[..., here, :], positions[..., here], causal=True))
        return torch.cat(answers, dim=-2)

    def read(self, tokens, positions=None):
        return self.read_pairs(tokens, tokens, tokens, positions)
