"""Inputs that bring out a fault: far larger or lower scores, a changed token, other strides."""

import torch

# What a causal function gave before the token that changes.
UNCHANGED = "the earlier outputs, which a later token must not change,"


def sharp_multihead(d_model, num_heads):
    """Weights under which whole numbers give whole scores of many thousands."""
    one = torch.eye(d_model)
    weights = {f"{which}_proj_weight": one for which in "kvo"}
    return {"d_model": d_model, "num_heads": num_heads, "q_proj_weight": 1_000.0 * one} | weights


def low_scores(draw, batch, queries, keys):
    """Queries and keys with scores near -40000, and a mask: what hides a key must be lower.

    Hidden keys have scores that are higher by dozens, so a small weight of theirs counts. The first
    query's first key is one of these in every draw.
    """
    towards = torch.full((batch, queries, 1), 400.0)
    Q = torch.cat((towards, 8.0 * draw.integers(-2, 3, batch, queries, 15)), dim=-1)
    away = torch.full((batch, keys, 1), -400.0)
    K = torch.cat((away, draw.integers(-2, 3, batch, keys, 15)), dim=-1)
    K[:, 0, 1:] = Q[:, 0, 1:] / 8.0
    mask = draw.mask(batch, queries, keys)
    mask[:, 0, 0], mask[:, 0, 1] = False, True
    return Q, K, mask


def strided(draw, *shape):
    """A tensor whose axes lie in memory in reverse order: no two of them can be viewed as one."""
    return draw(*reversed(shape)).permute(*reversed(range(len(shape))))


def change_from(position, x, change):
    """The tokens `x`, changed from a position on."""
    return torch.cat((x[:, :position], x[:, position:] + change[:, position:]), dim=1)
