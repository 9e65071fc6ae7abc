"""Everything that does not depend on the input is computed once and kept in a buffer."""
import functools
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class AttentionConfig:
    d_model: int
    num_heads: int
    max_seq_len: int = 1024
    theta: float = 10000.0

    @property
    def d_head(self):
        return self.d_model // self.num_heads


class MaskTable(nn.Module):
    def __init__(self, max_seq_len):
        super().__init__()
        blocked = torch.triu(torch.ones(max_seq_len, max_seq_len), diagonal=1).bool()
        self.register_buffer("allowed", ~blocked, persistent=False)

    def window(self, length):
        return self.allowed[:length, :length]


class SinusoidTable(nn.Module):
    def __init__(self, d_model, max_seq_len, base=10000.0):
        super().__init__()
        steps = torch.arange(max_seq_len, dtype=torch.float)
        pair = torch.arange(d_model) // 2
        angle = steps[:, None] / base ** (2 * pair / d_model)
        is_even = torch.arange(d_model) % 2 == 0
        table = torch.where(is_even, angle.sin(), angle.cos())
        self.register_buffer("table", table, persistent=False)

    def forward(self, length):
        return self.table[:length]


class RotaryTable(nn.Module):
    """cos and sin of every position below max_seq_len, one entry for each feature."""

    def __init__(self, d_k, theta, max_seq_len):
        super().__init__()
        inv_freq = 1.0 / (theta ** (torch.arange(0, d_k, 2).float() / d_k))
        steps = torch.arange(max_seq_len).float()
        freqs = torch.outer(steps, inv_freq)
        both = freqs.repeat_interleave(2, dim=-1)
        self.register_buffer("cos", both.cos(), persistent=False)
        self.register_buffer("sin", both.sin(), persistent=False)

    @staticmethod
    def partner(x):
        """(-x1, x0, -x3, x2, ...)"""
        out = torch.empty_like(x)
        out[..., ::2] = -x[..., 1::2]
        out[..., 1::2] = x[..., ::2]
        return out

    def forward(self, x, positions):
        cos = self.cos.to(x.device)[positions].to(x.dtype)
        sin = self.sin.to(x.device)[positions].to(x.dtype)
        return x * cos + self.partner(x) * sin


@functools.lru_cache(maxsize=8)
def rotary_table(d_k, theta, max_seq_len):
    return RotaryTable(d_k, theta, max_seq_len)


class Attention(nn.Module):
    @staticmethod
    def normalise(scores, dim):
        scores = scores - scores.max(dim=dim, keepdim=True).values
        exp = scores.exp()
        return exp / exp.sum(dim=dim, keepdim=True)

    def forward(self, q, k, v, allowed=None):
        d_k = k.shape[-1]
        scores = q @ k.transpose(-2, -1)
        scores = scores * d_k**-0.5
        if allowed is not None:
            lowest = float("-inf")
            scores = scores.masked_fill(allowed == 0, lowest)
        return self.normalise(scores, dim=-1) @ v


class CausalAttention(nn.Module):
    def __init__(self, config, w_q, w_k, w_v, w_o, rope=None):
        super().__init__()
        self.config = config
        self.weights = {"q": w_q, "k": w_k, "v": w_v, "o": w_o}
        self.masks = MaskTable(config.max_seq_len)
        self.attention = Attention()
        self.rope = rope

    def heads(self, x, name):
        projected = F.linear(x, self.weights[name])
        shape = projected.shape[:-1] + (self.config.num_heads, self.config.d_head)
        return projected.view(shape).transpose(-3, -2)

    def forward(self, x, positions=None):
        length = x.shape[-2]
        q, k, v = (self.heads(x, name) for name in ("q", "k", "v"))
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(length, device=x.device)
            per_head = positions[..., None, :]
            q, k = self.rope(q, per_head), self.rope(k, per_head)
        out = self.attention(q, k, v, self.masks.window(length))
        out = out.transpose(-3, -2).flatten(start_dim=-2)
        return F.linear(out, self.weights["o"])


def dropout(weights, p, training):
    if not training:
        return weights
    threshold = torch.full(weights.shape, p)
    survives = torch.rand(weights.shape) >= threshold
    return weights * survives.to(weights.dtype) / (1.0 - p)
