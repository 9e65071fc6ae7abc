"""Everything up to the attention weights: shape checks, softmax, masks, scores and dropout.

Each helper does one step and checks what it was given, so that a mistake shows up early.
"""

import math

import torch


# ---------------------------------------------------------------- checks


def check_shape(tensor, expected, name):
    actual = tuple(tensor.shape)
    assert actual == tuple(expected), f"{name} should be {tuple(expected)} but is {actual}"


def check_last_axes(tensor, expected, name):
    actual = tuple(tensor.shape[-len(expected):])
    assert actual == tuple(expected), f"{name} should end in {tuple(expected)} but in {actual}"


# ---------------------------------------------------------------- softmax


def largest_along(values, dim):
    largest = torch.amax(values, dim=dim, keepdim=True)
    assert largest.shape[dim] == 1, "the reduced axis must stay"
    return largest


def total_along(values, dim):
    total = torch.sum(values, dim=dim, keepdim=True)
    assert total.dim() == values.dim(), "the reduced axis must stay"
    return total


def softmax(values, dim):
    shifted = values - largest_along(values=values, dim=dim)
    powers = torch.exp(shifted)
    shares = powers / total_along(values=powers, dim=dim)
    check_shape(tensor=shares, expected=values.shape, name="shares")
    return shares


# ---------------------------------------------------------------- masks


def causal_mask(seq_len, device=None):
    rows = torch.arange(seq_len, device=device).unsqueeze(dim=1)
    columns = torch.arange(seq_len, device=device).unsqueeze(dim=0)
    allowed = columns <= rows
    check_shape(tensor=allowed, expected=(seq_len, seq_len), name="allowed")
    return allowed


def hide_forbidden(scores, allowed):
    if allowed is None:
        return scores
    check_last_axes(tensor=allowed, expected=scores.shape[-2:], name="allowed")
    return scores.masked_fill(mask=~allowed, value=-math.inf)


# ---------------------------------------------------------------- scores and weights


def dot_products(queries, keys):
    assert queries.shape[-1] == keys.shape[-1], "queries and keys need the same number of features"
    scores = torch.matmul(queries, keys.transpose(-2, -1))
    expected = (queries.shape[-2], keys.shape[-2])
    check_last_axes(tensor=scores, expected=expected, name="scores")
    return scores


def scale(scores, num_features):
    factor = 1.0 / math.sqrt(num_features)
    return scores * factor


def attention_weights(queries, keys, allowed=None):
    scores = dot_products(queries=queries, keys=keys)
    scores = scale(scores=scores, num_features=keys.shape[-1])
    scores = hide_forbidden(scores=scores, allowed=allowed)
    weights = softmax(values=scores, dim=-1)
    check_last_axes(tensor=weights, expected=scores.shape[-2:], name="weights")
    return weights


# ---------------------------------------------------------------- dropout


def random_keep_mask(weights, p):
    keep = torch.rand_like(weights) >= p
    check_shape(tensor=keep, expected=weights.shape, name="keep")
    return keep


def dropout(weights, p, training):
    assert 0 <= p < 1, "p is a probability below 1"
    if not training or p == 0:
        return weights
    keep = random_keep_mask(weights=weights, p=p)
    survivors = torch.where(keep, weights, torch.zeros_like(weights))
    return survivors / (1 - p)
