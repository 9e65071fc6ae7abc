import torch

from .warm_up import causal_mask, softmax


def attention_weights(q, k, mask=None):
    # q: (..., queries, d_k)   k: (..., keys, d_k)
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return softmax(scores, -1)


def attention(q, k, v, mask=None):
    return torch.matmul(attention_weights(q, k, mask), v)


def self_attention(Wq, Wk, Wv, x):
    return attention(x @ Wq, x @ Wk, x @ Wv)


def causal_self_attention(Wq, Wk, Wv, x):
    mask = causal_mask(seq_len, x.device)
    return attention(x @ Wq, x @ Wk, x @ Wv, mask)


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        # did not get any further, will ask in office hours
        raise NotImplementedError
