import torch


def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


def weights(q, k, mask=None):
    # scale q and not the scores: q is the smaller one
    return masked_softmax((q * q.shape[-1] ** -0.5) @ k.mT, mask)


def attention(q, k, v, mask=None):
    return weights(q, k, mask) @ v


def causal(n, device=None):
    return ~torch.triu(torch.ones((n, n), dtype=torch.bool, device=device), diagonal=1)


def to_heads(x, weight, num_heads):
    y = torch.nn.functional.linear(x, weight)
    return torch.stack(y.chunk(num_heads, dim=-1), dim=-3)


def from_heads(x, weight):
    y = torch.cat(x.unbind(dim=-3), dim=-1)
    return torch.nn.functional.linear(y, weight)
