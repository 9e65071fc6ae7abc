"""Pure functions on arrays, spelled as I would with jax.numpy."""

import torch
from torch.func import vmap

NEG_INF = float("-inf")


def stop_gradient(x):
    return x.detach()


def softmax(x, axis=-1):
    x_max = torch.amax(x, dim=axis, keepdim=True)
    unnormalized = torch.exp(x - stop_gradient(x_max))
    normalizer = torch.sum(unnormalized, dim=axis, keepdim=True)
    return unnormalized / normalizer


def vectorize(fn, core_ndim=2):
    """Like jnp.vectorize: maps `fn` over all the leading axes of its one argument."""

    def mapped(x):
        inner = fn
        for _ in range(x.ndim - core_ndim):
            inner = vmap(inner)
        return inner(x)

    return mapped


def causal_mask(length, device=None):
    query_ids = torch.arange(length, device=device)[:, None]
    key_ids = torch.arange(length, device=device)[None, :]
    return torch.greater_equal(query_ids, key_ids)


def dot_product(query, key):
    return torch.einsum("...qd,...kd->...qk", query, key)


def scale_by_depth(logits, depth):
    return logits * depth**-0.5


def apply_mask(logits, mask):
    if mask is None:
        return logits
    return torch.where(mask, logits, NEG_INF)


def attention_probs(query, key, mask=None):
    depth = query.shape[-1]
    logits = dot_product(query, key)
    logits = scale_by_depth(logits, depth)
    logits = apply_mask(logits, mask)
    return softmax(logits, axis=-1)


def weighted_sum(probs, value):
    return torch.einsum("...qk,...kd->...qd", probs, value)


def dot_product_attention(query, key, value, mask=None):
    probs = attention_probs(query, key, mask)
    return weighted_sum(probs, value)


def self_similarity_attention(x):
    probs = softmax(dot_product(x, x), axis=-1)
    return weighted_sum(probs, x)


def dropout(x, rate, deterministic):
    if deterministic or rate == 0.0:
        return x
    keep_prob = 1.0 - rate
    keep = torch.bernoulli(torch.full_like(x, keep_prob)).bool()
    return torch.where(keep, x / keep_prob, 0.0)
