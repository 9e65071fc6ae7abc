"""Everything but positions. (Mira)

Masks in this module say where NOT to look: `blocked` is True where attention is forbidden, so that
it can go straight into masked_fill. The adapters turn the assignment's masks around.
"""

import torch
import torch.nn.functional as F


def softmax(x, dim=-1):
    shifted = x - x.max(dim=dim, keepdim=True).values
    exps = shifted.exp()
    return exps / exps.sum(dim=dim, keepdim=True)


def future_mask(n, device=None):
    """True above the diagonal: a query (row) must not look at later keys (columns)."""
    everything = torch.ones(n, n, dtype=torch.bool, device=device)
    return everything.triu(diagonal=1)


def attention_weights(q, k, blocked=None):
    scale = q.size(-1) ** -0.5
    scores = (q @ k.transpose(-2, -1)) * scale
    if blocked is not None:
        scores = scores.masked_fill(blocked, float("-inf"))
    return softmax(scores, dim=-1)


def attend(q, k, v, blocked=None):
    return attention_weights(q, k, blocked) @ v


def causal_head(x, w_q, w_k, w_v):
    """One head, or several at once when x and the weights have an axis for them."""
    q = x @ w_q
    k = x @ w_k
    v = x @ w_v
    blocked = future_mask(x.size(-2), x.device)
    return attend(q, k, v, blocked)


def stacked_heads(x, w_q, w_k, w_v):
    x = x.unsqueeze(-3)  # (..., 1, seq, d_in) against (heads, d_in, d_head)
    return join_heads(causal_head(x, w_q, w_k, w_v))


def separate_heads(x, n_heads):
    """(..., seq, d_model) -> (..., heads, seq, d_head)"""
    x = x.unflatten(-1, (n_heads, -1))
    return x.transpose(-3, -2)


def join_heads(x):
    """(..., heads, seq, d_head) -> (..., seq, d_model)"""
    x = x.transpose(-3, -2)
    return x.flatten(start_dim=-2)


def project(x, weight, n_heads):
    return separate_heads(F.linear(x, weight), n_heads)


def multihead(queries, keys, values, weights, n_heads, causal=True, rotate=None):
    """Multi-head attention; `rotate` is called on the queries and keys of all heads, if given."""
    w_q, w_k, w_v, w_o = weights
    q = project(queries, w_q, n_heads)
    k = project(keys, w_k, n_heads)
    v = project(values, w_v, n_heads)
    if rotate is not None:
        q = rotate(q)
        k = rotate(k)
    blocked = None
    if causal:
        blocked = future_mask(queries.size(-2), queries.device)
    heads = attend(q, k, v, blocked)
    return F.linear(join_heads(heads), w_o)
