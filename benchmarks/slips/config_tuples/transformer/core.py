import torch
from torch import Tensor

from .config import AttentionConfig, Weights
from .numerics import visible
from .rotation import rotate
from .scores import weighted_values


def split(config: AttentionConfig, x: Tensor) -> Tensor:
    """(..., seq, d_model) -> (..., heads, seq, d_head)"""
    shape = x.shape[:-1] + (config.num_heads, config.d_head)
    return x.reshape(shape).transpose(-3, -2)


def join(config: AttentionConfig, x: Tensor) -> Tensor:
    """(..., heads, seq, d_head) -> (..., seq, d_model)"""
    x = x.transpose(-3, -2)
    return x.reshape(x.shape[:-2] + (config.d_model,))


def allowed_pairs(config: AttentionConfig, queries: Tensor) -> Tensor | None:
    if not config.causal:
        return None
    return visible(queries.size(-2), queries.device)


def turned(config: AttentionConfig, q: Tensor, k: Tensor, positions: Tensor | None):
    if not config.rotary:
        return q, k
    if positions is None:
        positions = torch.arange(q.size(-2), device=q.device)
    positions = positions.unsqueeze(-2)
    one = config.for_one_head()
    return rotate(one, q, positions), rotate(one, k, positions)


def apply_cross_attention(
    config: AttentionConfig,
    weights: Weights,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    positions: Tensor | None = None,
) -> Tensor:
    q = split(config, query @ weights.query.mT)
    k = split(config, key @ weights.key.mT)
    v = split(config, value @ weights.value.mT)
    q, k = turned(config, q, k, positions)
    mixed = weighted_values(config, q, k, v, allowed_pairs(config, q))
    return join(config, mixed) @ weights.output.mT


def apply_attention(
    config: AttentionConfig, weights: Weights, x: Tensor, positions: Tensor | None = None
) -> Tensor:
    return apply_cross_attention(config, weights, x, x, x, positions)


def single_head(config: AttentionConfig, weights: Weights, x: Tensor) -> Tensor:
    q, k, v = x @ weights.query, x @ weights.key, x @ weights.value
    return weighted_values(config, q, k, v, allowed_pairs(config, q))


def heads_side_by_side(config: AttentionConfig, weights: Weights, x: Tensor) -> Tensor:
    one = config.for_one_head()
    contexts = []
    for index in range(config.num_heads):
        own = Weights(weights.query[index], weights.key[index], weights.value[index])
        contexts.append(single_head(one, own, x))
    return torch.cat(contexts, -1)
