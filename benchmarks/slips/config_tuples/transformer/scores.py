import torch
from torch import Tensor

from .config import AttentionConfig
from .numerics import shares


def attention_shares(config: AttentionConfig, q: Tensor, k: Tensor, allowed: Tensor | None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / config.temperature
    if allowed is None:
        return shares(scores, axis=-1)
    lowest = torch.full_like(scores, float("-inf"))
    return shares(torch.where(allowed, scores, lowest), axis=-1)


def weighted_values(
    config: AttentionConfig, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None
) -> Tensor:
    weights = attention_shares(config, q, k, allowed)
    return torch.einsum("...qk,...kv->...qv", weights, v)
