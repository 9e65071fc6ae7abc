import torch


def head_slices(d_model, num_heads):
    """Which features belong to which head."""
    d_head = d_model // num_heads
    return [slice(h * d_head, (h + 1) * d_head) for h in range(num_heads)]


def weights_of_head(q, k, mask=None):
    scale = k.size(-1) ** 0.5
    scores = q.matmul(k.mT).div(scale)
    if mask is not None:
        minus_infinity = torch.full_like(scores, -torch.inf)
        scores = torch.where(mask, scores, minus_infinity)
    return torch.softmax(scores, dim=-1)


def one_head(q, k, v, mask=None):
    weights = weights_of_head(q, k, mask)
    return weights.matmul(v)
