import torch


def softmax(scores, dim=-1):
    top = torch.amax(scores, dim, keepdim=True)
    shifted = scores - top
    return torch.exp(shifted - torch.logsumexp(shifted, dim, keepdim=True))


def causal_mask(n, device=None):
    """(n, n), True below and on the diagonal."""
    return ~torch.ones(n, n, dtype=torch.bool, device=device).triu(1)


def attend(q, k, v, mask=None, scale=None):
    """Dot product attention; divides by sqrt(d_k) unless told another scale."""
    if scale is None:
        scale = k.shape[-1] ** -0.5
    logits = (q * scale) @ k.mT
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=q.dtype, device=q.device)
        bias = bias.masked_fill(~mask, float("-inf"))
        logits = logits + bias
    return softmax(logits) @ v


def drop(weights, p, training):
    if training and p > 0:
        keep = 1 - p
        kept = torch.bernoulli(torch.full_like(weights, keep))
        return weights * kept / keep
    return weights
