"""Building blocks, after "The Annotated Transformer" and the PyTorch tutorials."""

import copy
import math

import torch
import torch.nn as nn


def clones(module, N):
    "Produce N identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def subsequent_mask(size):
    "Mask out subsequent positions."
    attn_shape = (1, size, size)
    future = torch.triu(torch.ones(attn_shape), diagonal=1).type(torch.uint8)
    return future == 0


def softmax(x, dim):
    "Softmax, shifted by the maximum so that exp does not overflow."
    x_max = torch.max(x, dim=dim, keepdim=True).values
    x_exp = torch.exp(x - x_max)
    return x_exp / x_exp.sum(dim=dim, keepdim=True)


def attention(query, key, value=None, mask=None, dropout=None):
    "Compute 'Scaled Dot Product Attention'; returns the output and the weights."
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = softmax(scores, dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    if value is None:
        return None, p_attn
    return torch.matmul(p_attn, value), p_attn


class AttentionHead(nn.Module):
    "One causal head. Linear keeps its weight as (out, in), so the matrices are transposed."

    def __init__(self, w_q, w_k, w_v):
        super().__init__()
        d_in, d_head = w_q.shape
        self.w_q, self.w_k, self.w_v = clones(nn.Linear(d_in, d_head, bias=False), 3)
        self.w_q.weight = nn.Parameter(w_q.T)
        self.w_k.weight = nn.Parameter(w_k.T)
        self.w_v.weight = nn.Parameter(w_v.T)

    def forward(self, x):
        q = self.w_q(x)
        k = self.w_k(x)
        v = self.w_v(x)
        mask = subsequent_mask(x.size(-2)).squeeze(0).to(x.device)
        out, _ = attention(q, k, v, mask=mask)
        return out


class MultiHeadAttentionWrapper(nn.Module):
    "Stack some heads and concatenate what they say."

    def __init__(self, w_q, w_k, w_v):
        super().__init__()
        n_heads = w_q.size(0)
        self.heads = nn.ModuleList(
            [AttentionHead(w_q[i], w_k[i], w_v[i]) for i in range(n_heads)]
        )

    def forward(self, x):
        outputs = [head(x) for head in self.heads]
        return torch.cat(outputs, dim=-1)


class RotaryPositionalEmbedding(nn.Module):
    "Rotate the pairs of features (0, 1), (2, 3), ... by an angle that grows with the position."

    def __init__(self, dim, max_seq_len, base=10_000.0):
        super().__init__()
        self.dim = dim
        exponent = torch.arange(0, dim, 2).float() / dim
        inv_freq = 1.0 / (base ** exponent)
        seq_idx = torch.arange(max_seq_len, dtype=inv_freq.dtype)
        freqs = torch.einsum("i, j -> ij", seq_idx, inv_freq)
        cache = torch.stack([torch.cos(freqs), torch.sin(freqs)], dim=-1)
        self.register_buffer("cache", cache, persistent=False)

    def forward(self, x, input_pos):
        rope_cache = self.cache.to(x.device)[input_pos]
        cos, sin = rope_cache[..., 0], rope_cache[..., 1]
        xshaped = x.reshape(*x.shape[:-1], -1, 2)
        x_even, x_odd = xshaped[..., 0], xshaped[..., 1]
        x_out = torch.stack(
            [
                x_even * cos - x_odd * sin,
                x_odd * cos + x_even * sin,
            ],
            dim=-1,
        )
        return x_out.flatten(-2).type_as(x)


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, rotary=None):
        "Take in model size, number of heads and, if there is one, the rotary embedding."
        super().__init__()
        assert d_model % h == 0
        # We assume d_v always equals d_k
        self.d_k = d_model // h
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model, bias=False), 4)
        self.rotary = rotary
        self.attn = None

    def load(self, w_q, w_k, w_v, w_o):
        "Put the given weights in place of the random ones."
        for linear, weight in zip(self.linears, (w_q, w_k, w_v, w_o)):
            linear.weight = nn.Parameter(weight)
        return self

    def forward(self, query, key, value, mask=None, positions=None):
        if mask is not None:
            # Same mask applied to all h heads.
            mask = mask.unsqueeze(1)
        nbatches = query.size(0)

        # 1) Do all the linear projections in batch from d_model => h x d_k
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]

        if self.rotary is not None:
            # Same positions for all h heads.
            positions = positions.unsqueeze(1)
            query = self.rotary(query, positions)
            key = self.rotary(key, positions)

        # 2) Apply attention on all the projected vectors in batch.
        x, self.attn = attention(query, key, value, mask=mask)

        # 3) "Concat" using a view and apply a final linear.
        x = x.transpose(1, 2).contiguous()
        x = x.view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)
