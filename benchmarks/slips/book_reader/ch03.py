"""Chapter 3: Coding attention mechanisms (typed along while reading, adapted for the homework)."""

import torch
import torch.nn as nn


def softmax_stable(x, dim):
    # the book's softmax_naive overflows, so subtract the max first
    x_max = torch.max(x, dim=dim, keepdim=True).values
    exp_x = torch.exp(x - x_max)
    return exp_x / exp_x.sum(dim=dim, keepdim=True)


def future_mask(context_length):
    # as in the book: 1 ABOVE the diagonal = has to be hidden
    return torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()


def simplified_attention(inputs):
    # 3.3.2, no trainable weights
    attn_scores = inputs @ inputs.transpose(-2, -1)
    attn_weights = softmax_stable(attn_scores, dim=-1)
    all_context_vecs = attn_weights @ inputs
    return all_context_vecs


def compute_attn_weights(queries, keys, hidden=None):
    attn_scores = queries @ keys.transpose(-2, -1)
    if hidden is not None:
        attn_scores = attn_scores.masked_fill(hidden, -torch.inf)
    d_k = keys.shape[-1]
    return softmax_stable(attn_scores / d_k**0.5, dim=-1)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def load(self, W_query, W_key, W_value):
        with torch.no_grad():
            self.W_query.copy_(W_query)
            self.W_key.copy_(W_key)
            self.W_value.copy_(W_value)

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_weights = compute_attn_weights(queries, keys)
        context_vec = attn_weights @ values
        return context_vec


class AttentionDropout(nn.Module):
    """nn.Dropout by hand"""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, attn_weights):
        if not self.training or self.p == 0.0:
            return attn_weights
        keep_prob = 1.0 - self.p
        keep = torch.rand(attn_weights.shape, device=attn_weights.device) < keep_prob
        return attn_weights * keep / keep_prob


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", future_mask(context_length))

    def load(self, W_query, W_key, W_value):
        # nn.Linear stores (d_out, d_in), the homework gives (d_in, d_out)
        with torch.no_grad():
            self.W_query.weight.copy_(W_query.T)
            self.W_key.weight.copy_(W_key.T)
            self.W_value.weight.copy_(W_value.T)

    def forward(self, x):
        num_tokens = x.shape[-2]
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_weights = compute_attn_weights(queries, keys, self.mask[:num_tokens, :num_tokens])
        return attn_weights @ values


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, qkv_bias) for _ in range(num_heads)]
        )

    def load(self, W_query, W_key, W_value):
        for i, head in enumerate(self.heads):
            head.load(W_query[i], W_key[i], W_value[i])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False, out_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=out_bias)
        self.register_buffer("mask", future_mask(context_length))

    def load(self, q_weight, k_weight, v_weight, o_weight):
        with torch.no_grad():
            self.W_query.weight.copy_(q_weight)
            self.W_key.weight.copy_(k_weight)
            self.W_value.weight.copy_(v_weight)
            self.out_proj.weight.copy_(o_weight)

    def split_heads(self, x):
        # (..., tokens, d_out) -> (..., tokens, heads, head_dim) -> (..., heads, tokens, head_dim)
        x = x.view(*x.shape[:-1], self.num_heads, self.head_dim)
        return x.transpose(-3, -2)

    def attend(self, queries, keys, values, causal):
        hidden = None
        if causal:
            num_tokens = queries.shape[-2]
            hidden = self.mask[:num_tokens, :num_tokens]
        attn_weights = compute_attn_weights(queries, keys, hidden)
        context_vec = (attn_weights @ values).transpose(-3, -2)
        context_vec = context_vec.contiguous().view(*context_vec.shape[:-2], self.d_out)
        return self.out_proj(context_vec)

    def forward(self, query, key, value, causal=True):
        queries = self.split_heads(self.W_query(query))
        keys = self.split_heads(self.W_key(key))
        values = self.split_heads(self.W_value(value))
        return self.attend(queries, keys, values, causal)

    def num_parameters(self):
        return sum(p.numel() for p in self.parameters())
