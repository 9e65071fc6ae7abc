import torch
from torch.nn.functional import linear

from streaming import attention


def one_head(x, w_query, w_key, w_value, causal):
    return attention(x @ w_query, x @ w_key, x @ w_value, causal=causal)


def to_heads(x, weight, heads):
    y = linear(x, weight)
    return y.reshape(*y.shape[:-1], heads, y.shape[-1] // heads).swapaxes(-2, -3)


def from_heads(y, weight):
    y = y.swapaxes(-2, -3)
    return linear(y.reshape(*y.shape[:-2], weight.shape[-1]), weight)


def attend_in_heads(query, key, value, weights, heads, causal, spiral=None, positions=None):
    w_query, w_key, w_value, w_output = weights
    q = to_heads(query, w_query, heads)
    k = to_heads(key, w_key, heads)
    v = to_heads(value, w_value, heads)
    if spiral is not None:
        if positions is None:
            positions = torch.arange(q.shape[-2], device=q.device)
        positions = positions.unsqueeze(-2)
        q, k = spiral.rotate(q, positions), spiral.rotate(k, positions)
    return from_heads(attention(q, k, v, causal=causal), w_output)
