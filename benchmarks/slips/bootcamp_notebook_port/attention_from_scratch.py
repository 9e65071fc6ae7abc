"""My notebook on attention, cell after cell, as one file.

Every class takes (batch, tokens, features); `flatten_batch` and `restore_batch` make that true of
whatever comes in.
"""

import math

import torch
import torch.nn as nn

# --- any leading dimensions -> one batch dimension -> the leading dimensions again ---


def flatten_batch(x):
    lead = x.shape[:-2]
    return x.reshape(-1, x.shape[-2], x.shape[-1]), lead


def restore_batch(x, lead):
    return x.reshape(*lead, x.shape[-2], x.shape[-1])


# --- Chapter 1: softmax and attention without weights ---


def softmax_stable(x, dim):
    maxes, _ = torch.max(x, dim=dim, keepdim=True)
    exps = torch.exp(x - maxes)
    sums = torch.sum(exps, dim=dim, keepdim=True)
    return exps / sums


class SimpleAttention(nn.Module):
    def forward(self, inputs):
        attn_scores = inputs @ inputs.transpose(1, 2)
        attn_weights = softmax_stable(attn_scores, dim=-1)
        context_vec = attn_weights @ inputs
        return context_vec


# --- Chapter 2: scaled dot products, masks and dropout ---


def create_causal_mask(num_tokens, device=None):
    ones = torch.ones(num_tokens, num_tokens, device=device)
    return torch.tril(ones).bool()


class ScaledDotProduct(nn.Module):
    """Attention over batches of queries, keys and values; keeps the weights for the plots."""

    def compute_weights(self, queries, keys, mask=None):
        d_k = keys.shape[-1]
        attn_scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d_k)
        if mask is not None:
            attn_scores = attn_scores.masked_fill(~mask, -torch.inf)
        return softmax_stable(attn_scores, dim=-1)

    def forward(self, queries, keys, values, mask=None):
        self.attn_weights = self.compute_weights(queries, keys, mask)
        return torch.bmm(self.attn_weights, values)


def flatten_mask(mask, lead):
    if mask is None:
        return None
    num_queries, num_keys = mask.shape[-2:]
    mask = mask.expand(*lead, num_queries, num_keys)
    return mask.reshape(-1, num_queries, num_keys)


class AttentionDropout(nn.Module):
    def __init__(self, drop_rate):
        super().__init__()
        self.drop_rate = drop_rate

    def forward(self, attn_weights):
        if not self.training:
            return attn_weights
        survives = torch.rand_like(attn_weights) > self.drop_rate
        scale = 1.0 / (1.0 - self.drop_rate)
        return attn_weights * survives * scale


# --- Chapter 3: self-attention with trainable weights ---


class SelfAttention_v1(nn.Module):
    """The weights are plain parameters, (d_in, d_out)."""

    def __init__(self, W_query, W_key, W_value):
        super().__init__()
        self.W_query = nn.Parameter(W_query)
        self.W_key = nn.Parameter(W_key)
        self.W_value = nn.Parameter(W_value)

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_scores = queries @ keys.transpose(1, 2)
        attn_weights = softmax_stable(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        context_vec = attn_weights @ values
        return context_vec


class CausalAttention(nn.Module):
    """The weights are linear layers now, and no token looks ahead."""

    def __init__(self, d_in, d_out, context_length, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("mask", future.bool())

    def load_weights(self, w_query, w_key, w_value):
        self.W_query.weight = nn.Parameter(w_query.T)
        self.W_key.weight = nn.Parameter(w_key.T)
        self.W_value.weight = nn.Parameter(w_value.T)

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = softmax_stable(attn_scores / math.sqrt(self.d_out), dim=-1)
        return attn_weights @ values


class MultiHeadAttentionWrapper(nn.Module):
    """Heads beside each other in a list."""

    def __init__(self, d_in, d_head, context_length, num_heads):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_head, context_length) for _ in range(num_heads)]
        )

    def load_weights(self, w_query, w_key, w_value):
        for i, head in enumerate(self.heads):
            head.load_weights(w_query[i], w_key[i], w_value[i])

    def forward(self, x):
        context_vecs = [head(x) for head in self.heads]
        return torch.cat(context_vecs, dim=-1)


# --- Chapter 4: positions ---


class SinusoidalEncoding(nn.Module):
    def __init__(self, context_length, d_model):
        super().__init__()
        pos = torch.arange(context_length).unsqueeze(1)
        two_i = torch.arange(0, d_model, 2)
        div_term = torch.pow(10000.0, two_i / d_model)
        pe = torch.zeros(context_length, d_model)
        pe[:, 0::2] = torch.sin(pos / div_term)
        pe[:, 1::2] = torch.cos(pos / div_term)
        self.register_buffer("pe", pe)

    def forward(self, num_tokens):
        return self.pe[:num_tokens]


class RotaryEmbedding(nn.Module):
    """Turns the pairs (0, 1), (2, 3), ... of (batch, heads, tokens, head_dim)."""

    def __init__(self, head_dim, theta_base, context_length):
        super().__init__()
        self.head_dim = head_dim
        two_k = torch.arange(0, head_dim, 2).double()
        inv_freq = 1.0 / (theta_base ** (two_k / head_dim))
        self.build_cache(inv_freq, context_length)

    def build_cache(self, inv_freq, context_length):
        t = torch.arange(context_length).double()
        freqs = torch.outer(t, inv_freq)
        freqs = torch.repeat_interleave(freqs, 2, dim=-1)
        self.register_buffer("cos_cached", freqs.cos())
        self.register_buffer("sin_cached", freqs.sin())

    def rotate_neighbours(self, x):
        x_even = x[..., 0::2]
        x_odd = x[..., 1::2]
        rotated = torch.stack((-x_odd, x_even), dim=-1)
        return rotated.view(*x.shape)

    def forward(self, x, pos_ids):
        cos = self.cos_cached[pos_ids].unsqueeze(1).to(x.dtype)
        sin = self.sin_cached[pos_ids].unsqueeze(1).to(x.dtype)
        return x * cos + self.rotate_neighbours(x) * sin


def flatten_positions(pos_ids, lead):
    num_tokens = pos_ids.shape[-1]
    pos_ids = pos_ids.expand(*lead, num_tokens)
    return pos_ids.reshape(-1, num_tokens)


# --- Chapter 5: multi-head attention, with the heads in one matrix ---


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, qkv_bias=False, out_bias=False, rope=None):
        super().__init__()
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=out_bias)
        self.attention = ScaledDotProduct()
        self.rope = rope

    def load_weights(self, q_weight, k_weight, v_weight, o_weight):
        self.W_query.weight = nn.Parameter(q_weight)
        self.W_key.weight = nn.Parameter(k_weight)
        self.W_value.weight = nn.Parameter(v_weight)
        self.out_proj.weight = nn.Parameter(o_weight)
        return self

    def split_heads(self, x):
        b, num_tokens, _ = x.shape
        return x.view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)

    def merge_heads(self, context_vec):
        b, num_heads, num_tokens, head_dim = context_vec.shape
        context_vec = context_vec.transpose(1, 2).contiguous()
        return context_vec.view(b, num_tokens, self.d_out)

    def forward(self, x_q, x_k, x_v, causal=True, pos_ids=None):
        queries = self.split_heads(self.W_query(x_q))
        keys = self.split_heads(self.W_key(x_k))
        values = self.split_heads(self.W_value(x_v))

        if self.rope is not None:
            queries = self.rope(queries, pos_ids)
            keys = self.rope(keys, pos_ids)

        b, _, num_tokens, _ = queries.shape
        mask = create_causal_mask(num_tokens, x_q.device) if causal else None

        # heads into the batch, as bmm wants it, and out again
        context_vec = self.attention(
            queries.flatten(0, 1), keys.flatten(0, 1), values.flatten(0, 1), mask
        )
        context_vec = context_vec.view(b, self.num_heads, num_tokens, self.head_dim)
        return self.out_proj(self.merge_heads(context_vec))


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


# --- From tensors of any shape to the classes above, and back ---


def simple_attention(x):
    x, lead = flatten_batch(x)
    return restore_batch(SimpleAttention()(x), lead)


def attention_weights(q, k, mask=None):
    flat_q, lead = flatten_batch(q)
    flat_k, _ = flatten_batch(k)
    flat_mask = flatten_mask(mask, lead)
    weights = ScaledDotProduct().compute_weights(flat_q, flat_k, flat_mask)
    return restore_batch(weights, lead)


def scaled_attention(q, k, v, mask=None):
    flat_q, lead = flatten_batch(q)
    flat_k, _ = flatten_batch(k)
    flat_v, _ = flatten_batch(v)
    context_vec = ScaledDotProduct()(flat_q, flat_k, flat_v, flatten_mask(mask, lead))
    return restore_batch(context_vec, lead)


def attention_dropout(weights, p, training):
    dropout = AttentionDropout(p)
    dropout.train(training)
    return dropout(weights)


def self_attention(w_query, w_key, w_value, x):
    flat, lead = flatten_batch(x)
    sa_v1 = SelfAttention_v1(w_query, w_key, w_value)
    return restore_batch(sa_v1(flat), lead)


def causal_attention(w_query, w_key, w_value, x):
    flat, lead = flatten_batch(x)
    d_in, d_out = w_query.shape
    ca = CausalAttention(d_in, d_out, context_length=flat.shape[1])
    ca.load_weights(w_query, w_key, w_value)
    return restore_batch(ca.to(x.device)(flat), lead)


def stacked_attention(w_query, w_key, w_value, x):
    flat, lead = flatten_batch(x)
    num_heads, d_in, d_head = w_query.shape
    wrapper = MultiHeadAttentionWrapper(d_in, d_head, flat.shape[1], num_heads)
    wrapper.load_weights(w_query, w_key, w_value)
    return restore_batch(wrapper.to(x.device)(flat), lead)


def multihead_self_attention(d_model, num_heads, weights, x):
    flat, lead = flatten_batch(x)
    mha = MultiHeadAttention(d_model, d_model, num_heads).load_weights(*weights)
    return restore_batch(mha(flat, flat, flat), lead)


def multihead_cross_attention(d_model, num_heads, weights, query, key, value, is_causal):
    flat_query, lead = flatten_batch(query)
    flat_key, _ = flatten_batch(key)
    flat_value, _ = flatten_batch(value)
    mha = MultiHeadAttention(d_model, d_model, num_heads).load_weights(*weights)
    context_vec = mha(flat_query, flat_key, flat_value, causal=is_causal)
    return restore_batch(context_vec, lead)


def apply_rope(d_k, theta, max_seq_len, x, pos_ids):
    flat, lead = flatten_batch(x)
    rope = RotaryEmbedding(d_k, theta, max_seq_len).to(x.device)
    rotated = rope(flat.unsqueeze(1), flatten_positions(pos_ids, lead))
    return restore_batch(rotated.squeeze(1), lead)


def multihead_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, weights, x, pos_ids=None
):
    flat, lead = flatten_batch(x)
    if pos_ids is None:
        pos_ids = torch.arange(flat.shape[1], device=x.device)
    rope = RotaryEmbedding(d_model // num_heads, theta, max_seq_len).to(x.device)
    mha = MultiHeadAttention(d_model, d_model, num_heads, rope=rope).load_weights(*weights)
    context_vec = mha(flat, flat, flat, pos_ids=flatten_positions(pos_ids, lead))
    return restore_batch(context_vec, lead)


def parameter_count(d_in, d_out, qkv_bias, out_bias):
    model = MultiHeadAttention(d_in, d_out, num_heads=1, qkv_bias=qkv_bias, out_bias=out_bias)
    return count_parameters(model)
