"""
Dana Okafor -- multi-head attention, one head after the other.

I know that one can do all heads in one big matmul with reshape + transpose, but this way it reads
exactly like the picture in the paper: h little attentions, glued together at the end.
"""
import torch

from .warmup import causal_mask, softmax


def weights_of(Q, K, mask=None):
    d_k = Q.size(-1)
    scores = torch.matmul(Q, torch.transpose(K, -1, -2))
    scores = scores / d_k ** 0.5
    if mask is not None:
        lowest = torch.finfo(scores.dtype).min
        scores = torch.where(mask, scores, torch.full_like(scores, lowest))
    return softmax(scores, dim=-1)


def attend(Q, K, V, mask=None):
    return torch.matmul(weights_of(Q, K, mask), V)


def one_by_one(num_heads, Wq, Wk, Wv, Wo, query, key, value, causal, rotate=None):
    """
    num_heads: how many
    W*:        (d_model, d_model); head number i owns the i-th block of rows
    query:     (..., q, d_model);  key, value: (..., k, d_model)
    """
    mask = causal_mask(query.size(-2), query.device) if causal else None
    outputs = []
    for wq, wk, wv in zip(Wq.chunk(num_heads), Wk.chunk(num_heads), Wv.chunk(num_heads)):
        q = torch.matmul(query, wq.T)
        k = torch.matmul(key, wk.T)
        v = torch.matmul(value, wv.T)
        if rotate is not None:
            q = rotate(q)
            k = rotate(k)
        outputs.append(attend(q, k, v, mask))
    return torch.matmul(torch.cat(outputs, dim=-1), Wo.T)
