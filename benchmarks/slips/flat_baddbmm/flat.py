"""All tensors here are (batch, tokens, features): pack() makes them so and unpack() undoes it.

Masks are added: 0 where a query may look, minus infinity elsewhere.
"""

import torch

BLOCKED = -float("inf")


def pack(x):
    lead = x.shape[:-2]
    return x.reshape(lead.numel(), x.size(-2), x.size(-1)), lead


def unpack(x, lead):
    return x.reshape(*lead, x.size(1), x.size(2))


def softmax(x, dim):
    x = x - x.amax(dim, keepdim=True)
    x.exp_()
    return x / x.sum(dim, keepdim=True)


def bias_of_mask(mask, q, k):
    """(batch, queries, keys), from a mask that may have fewer axes than q and k."""
    bias = torch.zeros(*q.shape[:-1], k.size(-2), dtype=q.dtype, device=q.device)
    if mask is not None:
        bias.masked_fill_(~mask, BLOCKED)
    return pack(bias)[0]


def future_bias(n, like):
    full = torch.full((1, n, n), BLOCKED, dtype=like.dtype, device=like.device)
    return full.triu_(diagonal=1)


def weights(q, k, bias, scale=None):
    if scale is None:
        scale = q.size(2) ** -0.5
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=1, alpha=scale)
    return softmax(scores, dim=2)


def attend(q, k, v, bias, scale=None):
    return torch.bmm(weights(q, k, bias, scale), v)


def dropout(w, p):
    gate = torch.empty_like(w).bernoulli_(1 - p)
    return torch.mul(w, gate).div_(1 - p)


def project(x, weight):
    return torch.bmm(x, weight.t().expand(x.size(0), -1, -1))


def fold_heads(x, num_heads):
    """(batch, tokens, heads * d) -> (batch * heads, tokens, d)"""
    batch, tokens, width = x.shape
    x = x.view(batch, tokens, num_heads, width // num_heads)
    return x.permute(0, 2, 1, 3).reshape(batch * num_heads, tokens, width // num_heads)


def unfold_heads(x, num_heads):
    """(batch * heads, tokens, d) -> (batch, tokens, heads * d)"""
    tokens, d = x.shape[1:]
    x = x.view(-1, num_heads, tokens, d)
    return x.permute(0, 2, 1, 3).reshape(-1, tokens, num_heads * d)


def multihead(num_heads, matrices, inputs, is_causal, turn=None):
    (query, lead), (key, _), (value, _) = map(pack, inputs)
    w_q, w_k, w_v, w_o = matrices
    q = fold_heads(project(query, w_q), num_heads)
    k = fold_heads(project(key, w_k), num_heads)
    v = fold_heads(project(value, w_v), num_heads)
    if turn is not None:
        q, k = turn(q), turn(k)
    bias = future_bias(q.size(1), q) if is_causal else q.new_zeros(1, 1, 1)
    together = unfold_heads(attend(q, k, v, bias), num_heads)
    return unpack(project(together, w_o), lead)


def stacked(w_query, w_key, w_value, x):
    """Heads with matrices of their own, in the batch axis: (batch * heads, tokens, d_head)."""
    x, lead = pack(x)
    heads, batch = w_query.size(0), x.size(0)
    many = x.repeat_interleave(heads, dim=0)
    q = torch.bmm(many, w_query.repeat(batch, 1, 1))
    k = torch.bmm(many, w_key.repeat(batch, 1, 1))
    v = torch.bmm(many, w_value.repeat(batch, 1, 1))
    context = attend(q, k, v, future_bias(x.size(1), x))
    return unpack(unfold_heads(context, heads), lead)


def layer_size(rows, columns, has_bias):
    size = rows * columns
    if has_bias:
        size += columns
    return size
