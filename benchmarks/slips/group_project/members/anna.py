"""Anna: modules. The single heads, the mask, the dropout and multi-head self-attention."""

import math

import torch
from torch import nn


class CausalMask(nn.Module):
    """Holds the triangle for max_len positions and cuts off what is asked for."""

    def __init__(self, max_len):
        super().__init__()
        everything = torch.ones(max_len, max_len, dtype=torch.bool)
        self.register_buffer("allowed", torch.tril(everything))

    def forward(self, length):
        return self.allowed[:length, :length]


class WeightDropout(nn.Module):
    """Drops single weights in training and makes up for it with the others."""

    def __init__(self, p=0.0):
        super().__init__()
        self.p = p

    def forward(self, weights):
        if not self.training or self.p == 0.0:
            return weights
        keep_prob = 1.0 - self.p
        lots = torch.rand(weights.shape, device=weights.device)
        kept = lots < keep_prob
        return weights * kept / keep_prob


class DotProduct(nn.Module):
    """Queries look at keys and fetch values."""

    def __init__(self, d_k):
        super().__init__()
        self.divisor = math.sqrt(d_k)
        self.dropout = WeightDropout()

    def forward(self, queries, keys, values, allowed=None):
        scores = queries @ keys.transpose(-2, -1)
        scores = scores / self.divisor
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        return weights @ values


class SingleHead(nn.Module):
    """One head with weights that multiply from the right."""

    def __init__(self, d_in, d_out, causal=False):
        super().__init__()
        self.W_query = nn.Parameter(torch.zeros(d_in, d_out))
        self.W_key = nn.Parameter(torch.zeros(d_in, d_out))
        self.W_value = nn.Parameter(torch.zeros(d_in, d_out))
        self.dot_product = DotProduct(d_out)
        self.causal = causal

    def load(self, W_query, W_key, W_value):
        self.W_query = nn.Parameter(W_query)
        self.W_key = nn.Parameter(W_key)
        self.W_value = nn.Parameter(W_value)

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        allowed = None
        if self.causal:
            num_tokens = x.shape[-2]
            allowed = CausalMask(num_tokens).to(x.device)(num_tokens)
        return self.dot_product(queries, keys, values, allowed)


class MultiHeadSelfAttention(nn.Module):
    """Causal; the heads are blocks of the projections' rows."""

    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model, bias=False)
        self.mask = CausalMask(max_len)
        self.dot_product = DotProduct(self.d_head)

    @torch.no_grad()
    def load(self, query_weight, key_weight, value_weight, out_weight):
        self.to_query.weight.copy_(query_weight)
        self.to_key.weight.copy_(key_weight)
        self.to_value.weight.copy_(value_weight)
        self.to_out.weight.copy_(out_weight)

    def split_heads(self, x):
        *lead, num_tokens, _ = x.shape
        x = x.contiguous().view(*lead, num_tokens, self.num_heads, self.d_head)
        return x.transpose(-3, -2)

    def merge_heads(self, x):
        *lead, num_heads, num_tokens, d_head = x.shape
        x = x.transpose(-3, -2).contiguous()
        return x.view(*lead, num_tokens, num_heads * d_head)

    def forward(self, x):
        num_tokens = x.shape[-2]
        queries = self.split_heads(self.to_query(x))
        keys = self.split_heads(self.to_key(x))
        values = self.split_heads(self.to_value(x))
        allowed = self.mask(num_tokens)
        context = self.dot_product(queries, keys, values, allowed)
        context = self.merge_heads(context)
        return self.to_out(context)
