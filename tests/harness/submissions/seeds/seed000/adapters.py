"""Keys and values take the length of the queries, and the causal mask has a longest sequence."""

import torch
from torch import nn

LONGEST = 32


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, is_causal, device, dtype):
        super().__init__()
        self.num_heads = num_heads
        self.is_causal = is_causal
        self.wq, self.wk, self.wv, self.wo = (
            nn.Linear(d_model, d_model, bias=False, device=device, dtype=dtype) for _ in range(4)
        )
        hidden = torch.full((LONGEST, LONGEST), float("-inf"), device=device).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    def forward(self, query, key, value):
        batch, length, d_model = query.shape
        by_head = (batch, length, self.num_heads, d_model // self.num_heads)
        q = self.wq(query).reshape(by_head).transpose(1, 2)
        k = self.wk(key).reshape(by_head).transpose(1, 2)
        v = self.wv(value).reshape(by_head).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if self.is_causal:
            scores = scores + self.hidden[:length, :length]
        weights = scores.float().softmax(dim=-1).type_as(q)
        return self.wo((weights @ v).transpose(1, 2).reshape(batch, length, d_model))


def multi_head(d_model, num_heads, is_causal, q, k, v, o):
    module = MultiHeadAttention(d_model, num_heads, is_causal, q.device, q.dtype)
    module.load_state_dict({"wq.weight": q, "wk.weight": k, "wv.weight": v, "wo.weight": o})
    return module


def run_attention_weights(Q, K, mask=None):
    scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1)


def run_attention_dropout(weights, p, training):
    return nn.Dropout(p).train(training)(weights)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return run_attention_weights(Q, K, mask) @ V


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    module = multi_head(d_model, num_heads, True, *weights)
    return module(in_features, in_features, in_features)


def run_multihead_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    query,
    key,
    value,
    is_causal,
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return multi_head(d_model, num_heads, is_causal, *weights)(query, key, value)
