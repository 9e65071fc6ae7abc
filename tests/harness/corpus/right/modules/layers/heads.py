"""Layers with weights: one head, stacked heads, multi-head attention."""

import torch
from torch import nn

from .core import CausalMask, ScaledDotProductAttention


class SelfAttention(nn.Module):
    """One head whose weights multiply from the right; causal if it is told its context length."""

    def __init__(self, d_in, d_out, context_length=None):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.attention = ScaledDotProductAttention(d_out)
        self.mask = CausalMask(context_length) if context_length is not None else None

    def load_weights(self, query, key, value):
        with torch.no_grad():
            self.W_query.copy_(query)
            self.W_key.copy_(key)
            self.W_value.copy_(value)

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        mask = self.mask() if self.mask is not None else None
        mask = mask.to(x.device) if mask is not None else None
        return self.attention(queries, keys, values, mask)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, d_in, d_head, context_length):
        super().__init__()
        self.heads = nn.ModuleList(
            SelfAttention(d_in, d_head, context_length) for _ in range(num_heads)
        )

    def load_weights(self, query, key, value):
        for head, w_q, w_k, w_v in zip(self.heads, query, key, value):
            head.load_weights(w_q, w_k, w_v)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)
        self.attention = ScaledDotProductAttention(self.d_head)
        self.rope = rope

    def load_weights(self, q, k, v, o):
        state = {
            "q_proj.weight": q,
            "k_proj.weight": k,
            "v_proj.weight": v,
            "o_proj.weight": o,
        }
        self.load_state_dict(state, strict=False, assign=True)

    def split(self, x):
        x = x.view(*x.shape[:-1], self.num_heads, self.d_head)
        return x.transpose(-2, -3)

    def merge(self, x):
        x = x.transpose(-2, -3).contiguous()
        return x.view(*x.shape[:-2], self.num_heads * self.d_head)

    def forward(self, query, key, value, causal=False, positions=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))

        if self.rope is not None:
            per_head = positions.unsqueeze(-2)
            q = self.rope(q, per_head)
            k = self.rope(k, per_head)

        mask = CausalMask(q.size(-2))().to(q.device) if causal else None
        context = self.attention(q, k, v, mask)
        context = self.merge(context)
        return self.o_proj(context)
