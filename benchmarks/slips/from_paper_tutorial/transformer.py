# Building a Transformer from scratch in PyTorch (following the tutorial, only the parts needed here)
import math

import torch
import torch.nn as nn


def softmax(x, dim):
    x_max = torch.max(x, dim=dim, keepdim=True).values
    exp_x = torch.exp(x - x_max)
    return exp_x / torch.sum(exp_x, dim=dim, keepdim=True)


def subsequent_mask(size):
    # 1 = may look, 0 = may not look
    attn_shape = (1, size, size)
    nopeak_mask = (1 - torch.triu(torch.ones(attn_shape), diagonal=1)).bool()
    return nopeak_mask


def attention(query, key, value, mask=None):
    "Compute 'Scaled Dot Product Attention'"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    p_attn = softmax(scores, dim=-1)
    return torch.matmul(p_attn, value), p_attn


class Dropout(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep_prob = 1 - self.p
        keep = torch.rand_like(x) < keep_prob
        return x * keep / keep_prob


class SelfAttention(nn.Module):
    "Single head, with an optional causal mask"

    def __init__(self, d_in, d_out, causal=False):
        super(SelfAttention, self).__init__()
        self.causal = causal
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        mask = None
        if self.causal:
            mask = subsequent_mask(x.size(-2)).squeeze(0)
        out, self.attn = attention(q, k, v, mask)
        return out


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, rotary=None):
        super(MultiHeadAttention, self).__init__()
        # Ensure that the model dimension (d_model) is divisible by the number of heads
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"

        # Initialize dimensions
        self.d_model = d_model  # Model's dimension
        self.num_heads = num_heads  # Number of attention heads
        self.d_k = d_model // num_heads  # Dimension of each head's key, query, and value

        # Linear layers for transforming inputs
        self.W_q = nn.Linear(d_model, d_model, bias=False)  # Query transformation
        self.W_k = nn.Linear(d_model, d_model, bias=False)  # Key transformation
        self.W_v = nn.Linear(d_model, d_model, bias=False)  # Value transformation
        self.W_o = nn.Linear(d_model, d_model, bias=False)  # Output transformation
        self.rotary = rotary

    def split_heads(self, x):
        # Reshape the input to have num_heads for multi-head attention
        batch_size, seq_length, d_model = x.size()
        return x.view(batch_size, seq_length, self.num_heads, self.d_k).transpose(1, 2)

    def combine_heads(self, x):
        # Combine the multiple heads back to original shape
        batch_size, _, seq_length, d_k = x.size()
        return x.transpose(1, 2).contiguous().view(batch_size, seq_length, self.d_model)

    def forward(self, Q, K, V, mask=None, positions=None):
        # Apply linear transformations and split heads
        Q = self.split_heads(self.W_q(Q))
        K = self.split_heads(self.W_k(K))
        V = self.split_heads(self.W_v(V))

        if self.rotary is not None:
            Q = self.rotary(Q, positions)
            K = self.rotary(K, positions)

        # Perform scaled dot-product attention
        attn_output, self.attn = attention(Q, K, V, mask)

        # Combine heads and apply output transformation
        output = self.W_o(self.combine_heads(attn_output))
        return output


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_seq_length):
        super(PositionalEncoding, self).__init__()

        pe = torch.zeros(max_seq_length, d_model)
        position = torch.arange(0, max_seq_length, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))

        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)

        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, d_k, theta, max_seq_len):
        super(RotaryPositionalEmbedding, self).__init__()
        inv_freq = 1.0 / (theta ** (torch.arange(0, d_k, 2).float() / d_k))
        t = torch.arange(max_seq_len).float()
        freqs = torch.outer(t, inv_freq)
        self.register_buffer("cos_cached", freqs.cos())
        self.register_buffer("sin_cached", freqs.sin())

    def rotate_pairs(self, x):
        x1 = x[..., 0::2]
        x2 = x[..., 1::2]
        return torch.stack((-x2, x1), dim=-1).flatten(-2)

    def forward(self, x, positions):
        cos = self.cos_cached[positions].repeat_interleave(2, dim=-1).to(x.dtype)
        sin = self.sin_cached[positions].repeat_interleave(2, dim=-1).to(x.dtype)
        return x * cos + self.rotate_pairs(x) * sin
