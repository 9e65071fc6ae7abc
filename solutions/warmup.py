"""Model answers to the warm-up: from a softmax to attention weights and their dropout."""

import torch
from torch import Tensor

from .parts import Parts


def softmax(parts: Parts, in_features: Tensor, dim: int) -> Tensor:
    """Turns the numbers along `dim` into positive shares that sum to 1."""
    return parts.softmax(in_features, dim)


def simple_self_attention(parts: Parts, in_features: Tensor) -> Tensor:
    """Mixes the tokens by how alike they are, without weights and without scaling."""
    scores = parts.step("scores", parts.similarity(in_features, in_features))
    scaled = parts.step("scaled", parts.scale_unweighted(scores, in_features.shape[-1]))
    weights = parts.step("weights", parts.softmax(scaled, parts.axis_of_keys))
    return weights @ in_features


def causal_mask(parts: Parts, seq_len: int) -> Tensor:
    """Allows each position (row) itself and all earlier ones (columns)."""
    return parts.causal_mask(seq_len)


def attention_weights(parts: Parts, Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    """Shares out each query's attention over the keys that it may see."""
    return weigh(parts, Q, K, mask, width=Q.shape[-1])


def self_attention(
    parts: Parts, W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Attends from every token to every token of the same sequence."""
    seq, width = in_features.shape[-2:]
    queries, keys, values = projected(parts, W_query, W_key, W_value, in_features)
    return attend(parts, queries, keys, values, parts.unasked_mask(seq, seq), width)


def attention_dropout(parts: Parts, weights: Tensor, p: float, training: bool) -> Tensor:
    """Drops each weight with probability `p` and scales the others, so that the mean stays."""
    if not parts.drops(p, training):
        return weights
    kept = parts.kept(weights, p)
    return torch.where(kept, parts.rescale(weights, p), 0)


def weigh(parts: Parts, Q: Tensor, K: Tensor, mask: Tensor | None, width: int) -> Tensor:
    """Returns the attention weights of queries that were made from tokens with `width` features."""
    scores = parts.step("scores", parts.similarity(Q, K))
    scaled = parts.step("scaled", parts.scale(scores, Q.shape[-1], width))
    if mask is None:
        return parts.step("weights", parts.softmax(scaled, parts.axis_of_keys))
    masked = parts.step("masked", parts.mask_scores(scaled, mask))
    weights = parts.softmax(masked, parts.axis_of_keys)
    return parts.step("weights", parts.mask_weights(weights, mask))


def attend(
    parts: Parts, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, width: int
) -> Tensor:
    """Gives each query the average of the values, weighted by its attention to their keys."""
    queries, keys, values = parts.tensors_in_order(Q, K, V)
    weights = weigh(parts, queries, keys, mask, width)
    return weights @ values


def projected(
    parts: Parts, W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Projects tokens to queries, keys and values with weights that multiply from the right."""
    W_query, W_key, W_value = parts.weights_in_order(W_query, W_key, W_value)
    queries = parts.step("queries", parts.multiply(in_features, W_query))
    keys = parts.step("keys", parts.multiply(in_features, W_key))
    values = parts.step("values", parts.multiply(in_features, W_value))
    return queries, keys, values
