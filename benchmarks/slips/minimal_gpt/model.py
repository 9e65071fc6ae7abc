"""
Attention blocks of a minimal GPT, plus a rotary variant and cross-attention.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class GPTConfig:
    block_size: int = 1024
    n_head: int = 12
    n_embd: int = 768
    bias: bool = False
    rope_theta: float = 10000.0


def softmax(x, dim):
    x = x - x.amax(dim=dim, keepdim=True)
    e = x.exp()
    return e / e.sum(dim=dim, keepdim=True)


def attention_weights(q, k, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    return F.softmax(att, dim=-1)


class Head(nn.Module):
    """one head of causal self-attention"""

    def __init__(self, n_in, head_size, block_size):
        super().__init__()
        self.query = nn.Linear(n_in, head_size, bias=False)
        self.key = nn.Linear(n_in, head_size, bias=False)
        self.value = nn.Linear(n_in, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.size(-2)
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        # compute attention scores ("affinities")
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5  # (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        # perform the weighted aggregation of the values
        return wei @ v


class MultiHead(nn.Module):
    """several heads side by side"""

    def __init__(self, num_heads, n_in, head_size, block_size):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_in, head_size, block_size) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        # key, query, value projections for all heads, but in a batch
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        # output projection
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        # causal mask to ensure that attention is only applied to the left in the input sequence
        mask = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("mask", mask.view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()  # batch size, sequence length, embedding dimensionality (n_embd)

        # calculate query, key, values for all heads in batch and move head forward to be the batch dim
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)

        # causal self-attention; Self-attend: (B, nh, T, hs) x (B, nh, hs, T) -> (B, nh, T, T)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v  # (B, nh, T, T) x (B, nh, T, hs) -> (B, nh, T, hs)
        y = y.transpose(1, 2).contiguous().view(B, T, C)  # re-assemble all head outputs side by side

        # output projection
        return self.c_proj(y)


class CrossAttention(nn.Module):
    """queries from x, keys and values from somewhere else"""

    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.head_size = config.n_embd // config.n_head
        self.c_q = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.c_k = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.c_v = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)

    def forward(self, x, key, value, is_causal=False):
        B, T, C = x.size()
        S = key.size(1)
        q = self.c_q(x).view(B, T, self.n_head, self.head_size).transpose(1, 2)  # (B, nh, T, hs)
        k = self.c_k(key).view(B, S, self.n_head, self.head_size).transpose(1, 2)  # (B, nh, S, hs)
        v = self.c_v(value).view(B, S, self.n_head, self.head_size).transpose(1, 2)
        mask = torch.ones(T, S, dtype=torch.bool, device=x.device)
        if is_causal:
            mask = torch.tril(mask)
        y = attention_weights(q, k, mask) @ v  # (B, nh, T, hs)
        y = y.transpose(1, 2).reshape(B, T, C)
        return self.c_proj(y)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_seq_len, base=10000.0):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        t = torch.arange(max_seq_len).float()
        freqs = torch.outer(t, inv_freq)  # (max_seq_len, dim / 2)
        self.register_buffer("cos", freqs.cos(), persistent=False)
        self.register_buffer("sin", freqs.sin(), persistent=False)

    def forward(self, x, pos):
        cos, sin = self.cos[pos], self.sin[pos]  # (..., T, dim / 2)
        x1, x2 = x[..., ::2], x[..., 1::2]
        y1 = x1 * cos - x2 * sin
        y2 = x1 * sin + x2 * cos
        return torch.stack((y1, y2), dim=-1).flatten(-2)


class RotarySelfAttention(CausalSelfAttention):
    def __init__(self, config):
        super().__init__(config)
        self.head_size = config.n_embd // config.n_head
        self.rope = RotaryEmbedding(self.head_size, config.block_size, config.rope_theta)

    def forward(self, x, pos):
        B, T, C = x.size()
        qkv = self.c_attn(x).view(B, T, 3, self.n_head, self.head_size)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, nh, T, hs)
        pos = pos.unsqueeze(1)  # the same positions for all heads, (B, 1, T)
        q = self.rope(q, pos)
        k = self.rope(k, pos)
        att = attention_weights(q, k, self.mask[:, :, :T, :T])
        out = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(out)
