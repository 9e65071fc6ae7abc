"""
Attention part of a GPT, after https://github.com/karpathy/nanoGPT (no flash attention, no dropout on
the residual). Differences: RoPE can be switched on, leading dims are folded into B.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class GPTConfig:
    block_size: int = 1024
    n_head: int = 12
    n_embd: int = 768
    causal: bool = True
    rope: bool = False
    rope_theta: float = 10000.0


def softmax(att, dim=-1):
    att = att - att.amax(dim=dim, keepdim=True)
    att = torch.exp(att)
    att = att / att.sum(dim=dim, keepdim=True)
    return att


def precompute_freqs_cis(dim, end, theta=10000.0):
    # one row per position, one column per pair
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, dtype=torch.float32)
    freqs = torch.outer(t, freqs)
    return torch.cos(freqs), torch.sin(freqs)


def apply_rotary_emb(x, cos, sin):
    x = x.view(*x.shape[:-1], -1, 2)
    xr, xi = x.unbind(-1)
    yr = xr * cos - xi * sin
    yi = xr * sin + xi * cos
    return torch.stack((yr, yi), dim=-1).flatten(-2)


class CausalSelfAttention(nn.Module):

    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        # key, query, value projections for all heads, but in a batch
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        # output projection
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.causal = config.causal
        self.rope = config.rope
        # causal mask to ensure that attention is only applied to the left in the input sequence
        bias = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("bias", bias.view(1, 1, config.block_size, config.block_size))
        if self.rope:
            head_dim = config.n_embd // config.n_head
            cos, sin = precompute_freqs_cis(head_dim, config.block_size, config.rope_theta)
            self.register_buffer("cos", cos, persistent=False)
            self.register_buffer("sin", sin, persistent=False)

    def forward(self, x, pos=None):
        B, T, C = x.size()  # batch size, sequence length, embedding dimensionality (n_embd)

        # calculate query, key, values for all heads in batch and move head forward to be the batch dim
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)

        if self.rope:
            if pos is None:
                pos = torch.arange(T, device=x.device).unsqueeze(0)
            cos = self.cos[pos].unsqueeze(1).to(x.dtype)  # (B, 1, T, hs/2)
            sin = self.sin[pos].unsqueeze(1).to(x.dtype)
            q = apply_rotary_emb(q.contiguous(), cos, sin)
            k = apply_rotary_emb(k.contiguous(), cos, sin)

        # causal self-attention; Self-attend: (B, nh, T, hs) x (B, nh, hs, T) -> (B, nh, T, T)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if self.causal:
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))
        att = softmax(att, dim=-1)
        y = att @ v  # (B, nh, T, T) x (B, nh, T, hs) -> (B, nh, T, hs)
        y = y.transpose(1, 2).contiguous().view(B, T, C)  # re-assemble all head outputs side by side

        # output projection
        y = self.c_proj(y)
        return y

    @torch.no_grad()
    def load(self, wq, wk, wv, wo):
        self.to(wq.dtype)
        C = self.n_embd
        self.c_attn.weight[:C].copy_(wq)
        self.c_attn.weight[C : 2 * C].copy_(wk)
        self.c_attn.weight[2 * C :].copy_(wv)
        self.c_proj.weight.copy_(wo)
        return self


class Head(nn.Module):
    """ one head of self-attention """

    def __init__(self, wk, wq, wv, block_size=None):
        super().__init__()
        self.wk, self.wq, self.wv = wk, wq, wv
        if block_size is not None:
            self.register_buffer('tril', torch.tril(torch.ones(block_size, block_size)))
        else:
            self.tril = None

    def forward(self, x):
        T = x.shape[-2]
        k = x @ self.wk
        q = x @ self.wq
        # compute attention scores ("affinities")
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        if self.tril is not None:
            wei = wei.masked_fill(self.tril[:T, :T] == 0, float('-inf'))
        wei = softmax(wei, dim=-1)
        # perform the weighted aggregation of the values
        v = x @ self.wv
        out = wei @ v
        return out


def sinusoids(length, channels, max_timescale=10000):
    """ sin/cos interleaved, as in the paper """
    log_timescale_increment = math.log(max_timescale) / (channels // 2)
    inv_timescales = torch.exp(-log_timescale_increment * torch.arange(channels // 2))
    scaled_time = torch.arange(length)[:, None] * inv_timescales[None, :]
    wpe = torch.zeros(length, channels)
    wpe[:, 0::2] = scaled_time.sin()
    wpe[:, 1::2] = scaled_time.cos()
    return wpe


def get_num_params(n_in, n_embd, qkv_bias, out_bias):
    c_attn = nn.Linear(n_in, 3 * n_embd, bias=qkv_bias, device='meta')
    c_proj = nn.Linear(n_embd, n_embd, bias=out_bias, device='meta')
    n_params = sum(p.numel() for p in c_attn.parameters())
    n_params += sum(p.numel() for p in c_proj.parameters())
    return n_params
