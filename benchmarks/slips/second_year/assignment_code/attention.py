"""All the attention classes, from the simplest one to multi-head attention with RoPE.

d_in / d_out are the sizes of the vectors. Everything works for any number of batch dimensions.
"""

import math

import torch
import torch.nn as nn

from assignment_code.layers import CausalMask, Softmax
from assignment_code.rope import RotaryPositionalEmbedding


class SimpleSelfAttention(nn.Module):
    """Self-attention without trainable weights (first version in the book)."""

    def __init__(self):
        super().__init__()
        self.softmax = Softmax(dim=-1)

    def forward(self, x):
        attention_scores = x @ x.transpose(-2, -1)
        attention_weights = self.softmax(attention_scores)
        context_vectors = attention_weights @ x
        return context_vectors


class SelfAttention(nn.Module):
    """Self-attention with trainable weights, no mask."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.softmax = Softmax(dim=-1)

    def forward(self, x):
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attention_scores = queries @ keys.transpose(-2, -1)
        attention_weights = self.softmax(attention_scores / self.d_out ** 0.5)
        context_vectors = attention_weights @ values
        return context_vectors


class CausalSelfAttention(nn.Module):
    """Like SelfAttention, but a token can not see the tokens after it."""

    def __init__(self, d_in, d_out, context_length, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.softmax = Softmax(dim=-1)
        # here 1 means "hide", so it is the upper triangle without the diagonal
        future_mask = torch.triu(torch.ones(context_length, context_length), diagonal=1)
        self.register_buffer("future_mask", future_mask, persistent=False)

    def forward(self, x):
        num_tokens = x.shape[-2]
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attention_scores = queries @ keys.transpose(-2, -1)
        hidden = self.future_mask.bool()[:num_tokens, :num_tokens]
        attention_scores = attention_scores.masked_fill(hidden, -torch.inf)
        attention_weights = self.softmax(attention_scores / keys.shape[-1] ** 0.5)
        return attention_weights @ values


class MultiHeadAttentionWrapper(nn.Module):
    """Several CausalSelfAttention heads, the outputs are concatenated."""

    def __init__(self, d_in, d_head, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalSelfAttention(d_in, d_head, context_length, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        outputs_of_heads = [head(x) for head in self.heads]
        return torch.cat(outputs_of_heads, dim=-1)


class AttentionWeights(nn.Module):
    """Only the weights softmax(Q K^T / sqrt(d_k)), with an optional boolean mask."""

    def __init__(self):
        super().__init__()
        self.softmax = Softmax(dim=-1)

    def forward(self, query, key, mask=None):
        assert query.shape[-1] == key.shape[-1], "query and key need the same d_k"
        d_k = query.shape[-1]
        scores = torch.matmul(query, key.transpose(-2, -1))
        scores = scores / math.sqrt(d_k)
        if mask is not None:
            # mask is True where attention is allowed
            scores = scores.masked_fill(mask == False, float("-inf"))  # noqa: E712
        return self.softmax(scores)


class ScaledDotProductAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V"""

    def __init__(self):
        super().__init__()
        self.attention_weights = AttentionWeights()

    def forward(self, query, key, value, mask=None):
        assert key.shape[-2] == value.shape[-2], "every key needs a value"
        weights = self.attention_weights(query, key, mask)
        # (..., queries, keys) @ (..., keys, d_v) -> (..., queries, d_v)
        output = torch.matmul(weights, value)
        return output


class MultiHeadSelfAttention(nn.Module):
    """Causal multi-head attention with one big weight matrix for all the heads."""

    def __init__(self, d_model, num_heads, context_length):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.query_projection = nn.Linear(d_model, d_model, bias=False)
        self.key_projection = nn.Linear(d_model, d_model, bias=False)
        self.value_projection = nn.Linear(d_model, d_model, bias=False)
        self.output_projection = nn.Linear(d_model, d_model, bias=False)
        self.softmax = Softmax(dim=-1)
        self.register_buffer(
            "mask",
            torch.triu(torch.ones(context_length, context_length), diagonal=1),
            persistent=False,
        )

    def forward(self, x):
        *batch_dims, num_tokens, d_model = x.shape
        assert d_model == self.d_model

        queries = self.query_projection(x)
        keys = self.key_projection(x)
        values = self.value_projection(x)

        # split the last dimension: (..., num_tokens, d_model) -> (..., num_tokens, num_heads, head_dim)
        queries = queries.view(*batch_dims, num_tokens, self.num_heads, self.head_dim)
        keys = keys.view(*batch_dims, num_tokens, self.num_heads, self.head_dim)
        values = values.view(*batch_dims, num_tokens, self.num_heads, self.head_dim)

        # -> (..., num_heads, num_tokens, head_dim)
        queries = queries.transpose(-3, -2)
        keys = keys.transpose(-3, -2)
        values = values.transpose(-3, -2)

        # dot product for each head
        attention_scores = queries @ keys.transpose(-2, -1)
        mask_bool = self.mask.bool()[:num_tokens, :num_tokens]
        attention_scores.masked_fill_(mask_bool, -torch.inf)
        attention_weights = self.softmax(attention_scores / self.head_dim ** 0.5)

        # -> (..., num_tokens, num_heads, head_dim), then put the heads together again
        context_vectors = (attention_weights @ values).transpose(-3, -2)
        context_vectors = context_vectors.contiguous().view(*batch_dims, num_tokens, self.d_model)
        return self.output_projection(context_vectors)


class MultiHeadAttention(nn.Module):
    """Multi-head attention where queries, keys and values can come from different places."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.query_projection = nn.Linear(d_model, d_model, bias=False)
        self.key_projection = nn.Linear(d_model, d_model, bias=False)
        self.value_projection = nn.Linear(d_model, d_model, bias=False)
        self.output_projection = nn.Linear(d_model, d_model, bias=False)
        self.attention = ScaledDotProductAttention()

    def split_heads(self, tensor):
        # (..., length, d_model) -> (..., num_heads, length, head_dim)
        *batch_dims, length, _ = tensor.shape
        tensor = tensor.reshape(*batch_dims, length, self.num_heads, self.head_dim)
        return tensor.transpose(-2, -3)

    def merge_heads(self, tensor):
        # (..., num_heads, length, head_dim) -> (..., length, d_model)
        *batch_dims, _, length, _ = tensor.shape
        tensor = tensor.transpose(-2, -3).contiguous()
        return tensor.view(*batch_dims, length, self.d_model)

    def forward(self, query, key, value, is_causal=False):
        num_queries = query.shape[-2]
        num_keys = key.shape[-2]

        queries = self.split_heads(self.query_projection(query))
        keys = self.split_heads(self.key_projection(key))
        values = self.split_heads(self.value_projection(value))

        mask = None
        if is_causal:
            assert num_queries == num_keys, "causal only makes sense for equal lengths"
            mask = CausalMask(num_keys).to(query.device)(num_queries)

        context_vectors = self.attention(queries, keys, values, mask)
        context_vectors = self.merge_heads(context_vectors)
        return self.output_projection(context_vectors)


class MultiHeadSelfAttentionWithRoPE(nn.Module):
    """The same as MultiHeadSelfAttention, but queries and keys are rotated with RoPE."""

    def __init__(self, config):
        super().__init__()
        self.d_model = config["d_model"]
        self.num_heads = config["num_heads"]
        assert self.d_model % self.num_heads == 0, "d_model must be divisible by num_heads"
        self.head_dim = self.d_model // self.num_heads
        self.query_projection = nn.Linear(self.d_model, self.d_model, bias=False)
        self.key_projection = nn.Linear(self.d_model, self.d_model, bias=False)
        self.value_projection = nn.Linear(self.d_model, self.d_model, bias=False)
        self.output_projection = nn.Linear(self.d_model, self.d_model, bias=False)
        self.softmax = Softmax(dim=-1)
        self.rope = RotaryPositionalEmbedding(
            head_dimension=self.head_dim,
            max_sequence_length=config["max_seq_len"],
            theta_base=config["theta"],
        )

    def forward(self, x, token_positions=None):
        batch_dims = x.shape[:-2]
        num_tokens = x.shape[-2]

        if token_positions is None:
            token_positions = torch.arange(num_tokens, device=x.device)
        # one more dimension for the heads: (..., num_tokens) -> (..., 1, num_tokens)
        positions_for_heads = token_positions.unsqueeze(-2)

        q = self.query_projection(x).view(*batch_dims, num_tokens, self.num_heads, self.head_dim)
        k = self.key_projection(x).view(*batch_dims, num_tokens, self.num_heads, self.head_dim)
        v = self.value_projection(x).view(*batch_dims, num_tokens, self.num_heads, self.head_dim)
        q, k, v = q.transpose(-3, -2), k.transpose(-3, -2), v.transpose(-3, -2)

        # only queries and keys are rotated, the values not
        q = self.rope(q, positions_for_heads)
        k = self.rope(k, positions_for_heads)

        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        # the mask depends on the order of the tokens and not on their positions
        allowed = torch.tril(torch.ones(num_tokens, num_tokens, device=x.device))
        scores = scores.masked_fill(allowed == 0, float("-inf"))
        weights = self.softmax(scores)

        context = weights @ v
        # (..., num_heads, num_tokens, head_dim) -> (..., num_tokens, d_model)
        context = context.transpose(-3, -2).contiguous()
        context = context.view(*batch_dims, num_tokens, self.num_heads * self.head_dim)
        return self.output_projection(context)
