"Attention after the annotated paper: clones of linear layers, attention() that returns two things."
import copy
import math

import torch
import torch.nn as nn


def clones(module, N):
    "Produce N identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def stable_softmax(scores, dim):
    top, _ = torch.max(scores, dim=dim, keepdim=True)
    e = torch.exp(scores - top)
    return e / torch.sum(e, dim=dim, keepdim=True)


def subsequent_mask(size, device=None):
    "Mask out subsequent positions."
    attn_shape = (size, size)
    later = torch.triu(torch.ones(attn_shape, device=device), diagonal=1)
    return later == 0


class InvertedDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x * 1
        kept = torch.rand_like(x) >= self.p
        return x * kept / (1 - self.p)


def attention(query, key, value, mask=None, dropout=None, scaled=True):
    "Compute 'Scaled Dot Product Attention'"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1))
    if scaled:
        scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    p_attn = stable_softmax(scores, dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, rotary=None):
        super().__init__()
        assert d_model % h == 0
        self.d_k = d_model // h
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model, bias=False), 4)
        self.rotary = rotary
        self.attn = None

    def set_weights(self, *weights):
        for linear, weight in zip(self.linears, weights):
            linear.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, query, key, value, mask=None, positions=None):
        if mask is not None:
            # Same mask applied to all h heads.
            mask = mask.unsqueeze(-3)
        nbatches = query.size(0)

        # 1) Do all the linear projections in batch from d_model => h x d_k
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        if self.rotary is not None:
            query, key = [self.rotary(x, positions) for x in (query, key)]

        # 2) Apply attention on all the projected vectors in batch.
        x, self.attn = attention(query, key, value, mask=mask)

        # 3) "Concat" using a view and apply a final linear.
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


class HeadBank(nn.Module):
    "Heads that own a matrix each, side by side."

    def __init__(self, W_q, W_k, W_v):
        super().__init__()
        self.matrices = (W_q, W_k, W_v)

    def forward(self, x):
        q, k, v = [torch.matmul(x.unsqueeze(-3), W) for W in self.matrices]
        out, _ = attention(q, k, v, mask=subsequent_mask(x.size(-2), x.device))
        out = out.transpose(-3, -2)
        return out.reshape(*out.shape[:-2], -1)


class PositionalEncoding(nn.Module):
    "Implement the PE function."

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, length):
        return self.pe[:length].clone()


class RotaryEncoding(nn.Module):
    "Rotate neighbouring features; the tables are made once for max_len positions."

    def __init__(self, d_k, theta, max_len, device=None):
        super().__init__()
        position = torch.arange(0, max_len, device=device).unsqueeze(1)
        div_term = theta ** (torch.arange(0, d_k, 2, dtype=torch.float64, device=device) / d_k)
        angle = position / div_term
        self.register_buffer("cos", torch.cos(angle))
        self.register_buffer("sin", torch.sin(angle))

    def lookup(self, positions, like):
        cos, sin = self.cos[positions], self.sin[positions]
        while cos.dim() < like.dim():
            cos, sin = cos.unsqueeze(-3), sin.unsqueeze(-3)
        return cos.to(like.dtype), sin.to(like.dtype)

    def forward(self, x, positions=None):
        if positions is None:
            positions = torch.arange(x.size(-2), device=x.device)
        cos, sin = self.lookup(positions, x)
        x1, x2 = x[..., 0::2], x[..., 1::2]
        rotated = torch.zeros_like(x)
        rotated[..., 0::2] = x1 * cos - x2 * sin
        rotated[..., 1::2] = x1 * sin + x2 * cos
        return rotated


def count_parameters(d_in, d_out, qkv_bias, out_bias):
    "As the layers themselves would count."
    projection = d_in * d_out + (d_out if qkv_bias else 0)
    output = d_out * d_out + (d_out if out_bias else 0)
    return 3 * projection + output
