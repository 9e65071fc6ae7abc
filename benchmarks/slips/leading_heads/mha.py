import torch
import torch.nn.functional as F


def sdpa(q, k, v, mask=None, return_weights=False):
    scores = q @ k.transpose(-1, -2) * q.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    if return_weights:
        return weights
    return weights @ v


def future(queries, keys, device):
    """True where a key lies in the future of a query."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).triu(diagonal=1)


def rotary(x, positions, theta, max_len=None):
    half = x.size(-1) // 2
    if max_len is not None:
        positions = positions.clamp(max=max_len - 1)
    inv_freq = torch.pow(theta, -torch.arange(half, device=x.device).float() / half)
    phase = positions.unsqueeze(-1).float() * inv_freq
    pairs = x.view(*x.shape[:-1], half, 2) if x.is_contiguous() else x.unflatten(-1, (half, 2))
    a, b = pairs.unbind(dim=-1)
    cos, sin = torch.cos(phase).type_as(x), torch.sin(phase).type_as(x)
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).view(x.shape)


def multi_head(
    num_heads,
    q_weight,
    k_weight,
    v_weight,
    o_weight,
    query,
    key=None,
    value=None,
    is_causal=True,
    theta=None,
    max_len=None,
    positions=None,
):
    if key is None:
        key = query
    if value is None:
        value = key
    lead = query.shape[:-2]
    n_q, n_k = query.size(-2), key.size(-2)
    d_model = q_weight.size(0)
    d_head = d_model // num_heads

    # (..., seq, d_model) -> (heads, ..., seq, d_head)
    q = F.linear(query, q_weight).view(*lead, n_q, num_heads, d_head).movedim(-2, 0)
    k = F.linear(key, k_weight).view(*lead, n_k, num_heads, d_head).movedim(-2, 0)
    v = F.linear(value, v_weight).view(*lead, n_k, num_heads, d_head).movedim(-2, 0)

    if theta is not None:
        if positions is None:
            positions = torch.arange(n_q, device=query.device)
        q = rotary(q, positions, theta, max_len)
        k = rotary(k, positions, theta, max_len)

    mask = None
    if is_causal:
        mask = ~future(n_q, n_k, query.device)

    out = sdpa(q, k, v, mask)
    out = out.movedim(0, -2).contiguous().view(*lead, n_q, d_model)
    return F.linear(out, o_weight)


def stacked(W_q, W_k, W_v, x):
    heads, _, d_head = W_q.shape
    flat = x.reshape(-1, x.size(-1)).expand(heads, -1, -1)
    shape = (heads, *x.shape[:-1], d_head)
    q = torch.bmm(flat, W_q).view(shape)
    k = torch.bmm(flat, W_k).view(shape)
    v = torch.bmm(flat, W_v).view(shape)
    out = sdpa(q, k, v, ~future(x.size(-2), x.size(-2), x.device))
    return torch.cat(out.unbind(0), dim=-1)


def single(x, W_q=None, W_k=None, W_v=None, is_causal=False):
    q = x if W_q is None else F.linear(x, W_q.T)
    k = x if W_k is None else F.linear(x, W_k.T)
    v = x if W_v is None else F.linear(x, W_v.T)
    mask = ~future(x.size(-2), x.size(-2), x.device) if is_causal else None
    if W_q is None:
        # the warm-up does not scale
        q = q * q.size(-1) ** 0.5
    return sdpa(q, k, v, mask)


def count_parameters(d_in, d_out, qkv_bias=False, out_bias=True):
    n = 3 * d_in * d_out
    if qkv_bias:
        n += 3 * d_out
    n += d_out * d_out
    if out_bias:
        n += d_out
    return n
