import math

import torch
from einops import einsum
from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    # subtract the max so that exp does not overflow (lost points for this last year)
    x_max = x.max(dim=dim, keepdim=True).values
    x_exp = torch.exp(x - x_max)
    return x_exp / x_exp.sum(dim=dim, keepdim=True)


def causal_mask(seq_len: int, device: torch.device | None = None) -> Tensor:
    # True = may attend
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
    return torch.tril(ones)


def attention_probs(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    d_k = Q.shape[-1]
    scores = einsum(Q, K, "... q d, ... k d -> ... q k") / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, dim=-1)


def scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    probs = attention_probs(Q, K, mask)
    return einsum(probs, V, "... q k, ... k d -> ... q d")


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    if not training:
        return x
    keep_prob = 1.0 - p
    mask = torch.empty_like(x).bernoulli_(keep_prob)
    return x * mask / keep_prob
