import math

import torch
from torch import nn


def stable_softmax(x, dim):
    biggest, _ = x.max(dim, keepdim=True)
    numerator = (x - biggest).exp()
    return numerator / numerator.sum(dim, keepdim=True)


def lower_triangle(size, device=None):
    full = torch.ones(size, size, dtype=torch.bool, device=device)
    return torch.tril(full)


class ScaledDotProductAttention(nn.Module):
    def __init__(self, d_k):
        super().__init__()
        self.scale = 1 / math.sqrt(d_k)

    def weights(self, q, k, mask=None):
        logits = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        if mask is not None:
            logits = logits.masked_fill(torch.logical_not(mask), -torch.inf)
        return stable_softmax(logits, dim=-1)

    def forward(self, q, k, v, mask=None):
        return torch.matmul(self.weights(q, k, mask), v)


class CausalHead(nn.Module):
    """One head whose weights multiply from the right."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=False)
        self.key = nn.Linear(d_in, d_out, bias=False)
        self.value = nn.Linear(d_in, d_out, bias=False)
        self.attend = ScaledDotProductAttention(d_out)

    def set_weights(self, w_query, w_key, w_value):
        del self.query.weight, self.key.weight, self.value.weight
        self.query.weight = w_query.T
        self.key.weight = w_key.T
        self.value.weight = w_value.T

    def forward(self, x):
        mask = lower_triangle(x.size(-2), x.device)
        return self.attend(self.query(x), self.key(x), self.value(x), mask)


class MultiHeadBase(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)
        self.attend = ScaledDotProductAttention(self.d_head)

    def split(self, x):
        x = x.unflatten(-1, (self.num_heads, self.d_head))
        return x.transpose(-3, -2)

    def merge(self, x):
        x = x.transpose(-3, -2)
        return x.flatten(-2)


class MultiHeadSelfAttention(MultiHeadBase):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__(d_model, num_heads)
        self.rope = rope

    def forward(self, x, positions=None):
        n_tokens = x.size(-2)
        q = self.split(self.q_proj(x))
        k = self.split(self.k_proj(x))
        v = self.split(self.v_proj(x))
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(n_tokens, device=x.device)
            positions = positions.unsqueeze(-2)
            q = self.rope(q, positions)
            k = self.rope(k, positions)
        mask = lower_triangle(n_tokens, x.device)
        heads = self.attend(q, k, v, mask)
        return self.out_proj(self.merge(heads))


class CrossAttention(MultiHeadBase):
    def __init__(self, d_model, num_heads, causal=False):
        super().__init__(d_model, num_heads)
        self.causal = causal

    def forward(self, query, key, value):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        mask = None
        if self.causal:
            mask = lower_triangle(query.size(-2), query.device)
        heads = self.attend(q, k, v, mask)
        return self.out_proj(self.merge(heads))


def count_parameters(d_in, d_out, qkv_bias, out_bias):
    block = nn.ModuleList(
        [
            nn.Linear(d_in, d_out, bias=qkv_bias),
            nn.Linear(d_in, d_out, bias=qkv_bias),
            nn.Linear(d_in, d_out, bias=qkv_bias),
            nn.Linear(d_out, d_out, bias=out_bias),
        ]
    )
    return sum(p.numel() for p in block.parameters())


class PositionalEncoding(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model

    def forward(self, seq_len):
        position = torch.arange(seq_len).unsqueeze(1)
        log_step = -math.log(10000.0) / self.d_model
        rate = torch.exp(torch.arange(0, self.d_model, 2) * log_step)
        table = torch.empty(seq_len, self.d_model)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        return table


class RotaryEmbedding(nn.Module):
    def __init__(self, d_k, theta=10000.0):
        super().__init__()
        self.d_k = d_k
        self.theta = theta

    def angles(self, positions):
        exponent = torch.arange(0, self.d_k, 2, device=positions.device) / self.d_k
        return positions.unsqueeze(-1) / self.theta**exponent

    def forward(self, x, positions):
        angle = self.angles(positions)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        even, odd = x[..., 0::2], x[..., 1::2]
        out = torch.empty_like(x)
        out[..., 0::2] = even * cos - odd * sin
        out[..., 1::2] = even * sin + odd * cos
        return out
