import torch


def softmax(v, dim):
    biggest, _ = torch.max(v, dim=dim, keepdim=True)
    numerator = torch.exp(v - biggest)
    denominator = torch.sum(numerator, dim=dim, keepdim=True)
    return numerator / denominator


def causal_mask(seq_len, device=None):
    row = torch.arange(seq_len, device=device)[:, None]
    column = torch.arange(seq_len, device=device)[None, :]
    return column <= row


def dropout(weights, p, training):
    if training is False:
        return weights
    if p >= 1.0:
        return weights * 0
    survivors = torch.empty_like(weights).bernoulli_(1 - p)
    return weights * survivors / (1 - p)
