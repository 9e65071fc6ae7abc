import torch
import torch.nn.functional as F


def may_look(seq_len, device=None):
    return torch.ones(seq_len, seq_len, device=device, dtype=torch.bool).tril(diagonal=0)


def attention_weights(q, k, mask=None):
    scores = torch.matmul(q, k.swapdims(-1, -2)) * (1 / q.shape[-1] ** 0.5)
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-torch.inf, dtype=scores.dtype, device=scores.device))
    return F.softmax(scores, dim=-1)


def attention(q, k, v, mask=None):
    return torch.matmul(attention_weights(q, k, mask), v)


def multi_head_attention(num_heads, weights, inputs, mask, position_fn=None):
    """weights: W_q, W_k, W_v, W_o;  inputs: query, key, value"""
    *projections, output = weights
    q, k, v = [
        F.linear(x, w).unflatten(-1, (num_heads, w.shape[0] // num_heads)).swapdims(-2, -3)
        for x, w in zip(inputs, projections)
    ]
    if position_fn:
        q, k = position_fn(q), position_fn(k)
    return F.linear(attention(q, k, v, mask).swapdims(-2, -3).flatten(-2), output)
