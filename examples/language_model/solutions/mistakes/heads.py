"""Mistakes in projections, in splitting features into heads and in merging them again."""

import math
from typing import Any

import torch
from torch import Tensor

from ..answers import Answer, answer
from ..parts import Parts
from ..steps import split_heads
from .mistake import CAUSAL, MULTIHEAD, Mistake, Way, ways

_WITHOUT_ROPE = (MULTIHEAD,)
_WITH_WEIGHTS = ("run_linear", "run_embedding", "run_swiglu")
_WEIGHTS = (
    *("weights", "w1_weight", "w2_weight", "w3_weight"),
    *("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight"),
)


def _cut_across_tokens(features: Tensor, num_heads: int) -> Tensor:
    *lead, seq, width = features.shape
    return features.reshape(*lead, num_heads, seq, width // num_heads)


def _cut_within_tokens(features: Tensor, num_heads: int) -> Tensor:
    return split_heads(features, num_heads).transpose(-3, -2)


def _laid_within_tokens(heads: Tensor) -> Tensor:
    return heads.flatten(-2)


def _laid_across_tokens(heads: Tensor) -> Tensor:
    *lead, num_heads, seq, d_head = heads.shape
    return heads.reshape(*lead, seq, num_heads * d_head)


def _cut_interleaved(features: Tensor, num_heads: int) -> Tensor:
    return features.unflatten(-1, (-1, num_heads)).movedim(-1, -3)


def _laid_interleaved(heads: Tensor) -> Tensor:
    return heads.movedim(-3, -1).flatten(-2)


def _uncut(features: Tensor, _num_heads: int) -> Tensor:
    return features.unsqueeze(-3)


def _first_for_all(features: Tensor, num_heads: int) -> Tensor:
    heads = split_heads(features, num_heads)
    return heads[..., :1, :, :].expand_as(heads)


def _last_for_all(features: Tensor, num_heads: int) -> Tensor:
    heads = split_heads(features, num_heads)
    return heads[..., -1:, :, :].expand_as(heads)


def _by_diagonal(features: Tensor, weight: Tensor) -> Tensor:
    return features * weight.diagonal()


def _unprojected(merged: Tensor, _weight: Tensor) -> Tensor:
    return merged


def _times(features: Tensor, weight: Tensor) -> Tensor:
    return features @ weight


def _with_drawn_weights(exercise: str) -> Answer:
    """Returns a right answer that ignores the given weights and draws its own."""
    right = answer(exercise, Parts())

    def function(**inputs: Any) -> Tensor:
        weights = {name: _drawn_like(inputs[name]) for name in inputs if name in _WEIGHTS}
        return right(**inputs | weights)

    return function


def _drawn_like(weights: Any) -> Any:
    if isinstance(weights, dict):
        return {name: _drawn_like(weight) for name, weight in weights.items()}
    return torch.randn_like(weights) / math.sqrt(weights.shape[-1])


MISTAKES = (
    Mistake(
        "heads-split-without-transpose",
        "Your features are split into heads without swapping the axes of heads and tokens, "
        "which mixes tokens up.",
        "If three tokens have the features 0 to 3, 4 to 7 and 8 to 11, which numbers belong to the "
        "first of two heads?",
        ways(
            Way(CAUSAL, {"split_heads": _cut_across_tokens}),
            Way(
                _WITHOUT_ROPE,
                {"split_heads": _cut_within_tokens, "merge_heads": _laid_within_tokens},
            ),
        ),
    ),
    Mistake(
        "heads-merge-without-transpose",
        "The outputs of your heads are merged without swapping the axes of heads and tokens, "
        "which mixes tokens up.",
        "Just before you merge, do the outputs that belong to one token lie next to each other?",
        ways(Way(CAUSAL, {"merge_heads": _laid_across_tokens})),
    ),
    Mistake(
        "heads-interleaved",
        "The features of your heads are interleaved, but each head should have a block of "
        "neighbouring ones.",
        "With two heads and four features, which features belong to the first head, when you split "
        "and when you merge?",
        ways(
            Way(CAUSAL, {"split_heads": _cut_interleaved, "merge_heads": _laid_interleaved}),
            Way(CAUSAL, {"split_heads": _cut_interleaved}),
            Way(CAUSAL, {"merge_heads": _laid_interleaved}),
        ),
    ),
    Mistake(
        "single-head",
        "All features are used by one head, as if the number of heads were 1.",
        "Where in your code does the number of heads make a difference to the scores?",
        ways(Way(CAUSAL, {"split_heads": _uncut})),
    ),
    Mistake(
        "heads-share-weights",
        "Your result holds one head's output several times, in place of each head's own.",
        "Which weights does each head use, and whose outputs are joined?",
        ways(
            Way(CAUSAL, {"split_heads": _first_for_all}),
            Way(CAUSAL, {"split_heads": _last_for_all}),
        ),
    ),
    Mistake(
        "output-projection-missing",
        "The merged outputs of your heads are returned without the output projection.",
        "Which of the four weights has no effect on your result?",
        ways(Way(CAUSAL, {"project_output": _unprojected})),
    ),
    Mistake(
        "output-projection-transposed",
        "Your output projection sums over the wrong axis of its weight: rows and columns are "
        "swapped.",
        "Over which axis of the output weight does your product sum, and which one holds the "
        "features that come in?",
        ways(Way(CAUSAL, {"project_output": _times})),
    ),
    Mistake(
        "weight-diagonal",
        "You use only the diagonal of a square weight: your equation gives both of its axes the "
        "same name.",
        "In `einsum(x, weight, '... d, d d -> ... d')`, which numbers of the weight are read?",
        ways(
            Way(CAUSAL, {"project": _by_diagonal, "project_output": _by_diagonal}),
            Way(CAUSAL, {"project": _by_diagonal}),
            Way(CAUSAL, {"project_output": _by_diagonal}),
        ),
    ),
    Mistake(
        "weights-not-loaded",
        "Your layers keep their random initial weights: the weights that the caller passes are "
        "never loaded.",
        "Print a weight of your layer before and after you load it: is it the one that was passed?",
        {name: (_with_drawn_weights(name),) for name in (*_WITH_WEIGHTS, *CAUSAL)},
        ignores=_WEIGHTS,
    ),
)
