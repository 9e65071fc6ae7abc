"""Only broadcasting: axes of length one are put where they are needed, and nothing is looped over."""

import math

import torch


def softmax(x, dim):
    highest = x.max(dim, keepdim=True)[0]
    powers = (x - highest.expand_as(x)).exp()
    total = powers.sum(dim).unsqueeze(dim)
    return powers / total


def scores(Q, K, scale=None):
    """(..., queries, keys), scaled; all leading axes go through one batched product."""
    lead = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2])
    n, d = Q.shape[-2:]
    m = K.shape[-2]
    q = Q.expand(*lead, n, d).reshape(-1, n, d)
    k = K.expand(*lead, m, d).reshape(-1, m, d)
    alpha = 1 / math.sqrt(d) if scale is None else scale
    product = torch.baddbmm(q.new_zeros(1, 1, 1), q, k.transpose(1, 2), beta=0, alpha=alpha)
    return product.reshape(*lead, n, m)


def keep(n, m, device=None):
    return torch.ones(n, m, device=device).tril() > 0


def attention_weights(Q, K, mask=None, causal=False, scale=None):
    s = scores(Q, K, scale)
    nothing = torch.full((), -math.inf, dtype=s.dtype, device=s.device)
    if mask is not None:
        s = torch.where(mask, s, nothing)
    if causal:
        s = torch.where(keep(s.shape[-2], s.shape[-1], s.device), s, nothing)
    return softmax(s, dim=-1)


def attend(Q, K, V, mask=None, causal=False, scale=None):
    a = attention_weights(Q, K, mask, causal, scale)
    return torch.matmul(a, V)


def dropout(weights, p):
    noise = torch.rand_like(weights)
    zero = weights.new_zeros(())
    return torch.where(noise < p, zero, weights) / (1 - p)


def in_heads(x, weight, num_heads):
    """(..., seq, d_model) -> (..., heads, seq, d_head): every head has its rows of the weight."""
    rows = weight.reshape(num_heads, -1, weight.shape[-1])
    return torch.matmul(x[..., None, :, :], rows.transpose(-1, -2))


def out_of_heads(context, weight):
    """Each head has its columns of the weight; what they give is summed."""
    heads, d_head = context.shape[-3], context.shape[-1]
    columns = weight.reshape(weight.shape[0], heads, d_head)
    by_head = columns.permute(1, 2, 0)
    return torch.matmul(context, by_head).sum(dim=-3)


def multihead(num_heads, weights, query, key, value, causal, turn=None):
    w_query, w_key, w_value, w_out = weights
    q = in_heads(query, w_query, num_heads)
    k = in_heads(key, w_key, num_heads)
    v = in_heads(value, w_value, num_heads)
    if turn is not None:
        theta, positions = turn
        q = rope(q, positions, theta)
        k = rope(k, positions, theta)
    return out_of_heads(attend(q, k, v, causal=causal), w_out)


def stacked(W_query, W_key, W_value, x):
    x = x.unsqueeze(-3)
    context = attend(x @ W_query, x @ W_key, x @ W_value, causal=True)
    *lead, heads, seq, d_head = context.shape
    side_by_side = context.transpose(-2, -3)
    return side_by_side.reshape(*lead, seq, heads * d_head)


def angles(positions, width, base):
    pair = torch.arange(width // 2, device=positions.device)
    return positions[..., None] / base ** (2 * pair / width)


def rope(x, positions, theta):
    d = x.shape[-1]
    angle = angles(positions, d, theta)[..., None]
    cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
    signs = torch.tensor([-1, 1], device=x.device)
    pairs = x.reshape(*x.shape[:-1], d // 2, 2)
    turned = pairs * cos + pairs.flip(-1) * sin * signs
    return turned.reshape(x.shape)


def sinusoids(seq_len, d_model):
    angle = angles(torch.arange(seq_len), d_model, 10000)[..., None]
    odd = torch.arange(2) == 1
    return torch.where(odd, torch.cos(angle), torch.sin(angle)).reshape(seq_len, d_model)
