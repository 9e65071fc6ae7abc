"""Mistakes in splitting features into heads and in laying the heads' outputs side by side."""

from torch import Tensor

from ..steps import split_heads
from .mistake import MULTIHEAD, MULTIHEAD_SELF, PROJECTED, STACKED, Mistake, Way


def _cut_across_tokens(features: Tensor, num_heads: int) -> Tensor:
    *lead, seq, width = features.shape
    return features.reshape(*lead, num_heads, seq, width // num_heads)


def _cut_within_tokens(features: Tensor, num_heads: int) -> Tensor:
    return split_heads(features, num_heads).transpose(-3, -2)


def _laid_within_tokens(heads: Tensor) -> Tensor:
    return heads.flatten(-2)


def _laid_back_twice(heads: Tensor) -> Tensor:
    *lead, seq, num_heads, d_head = heads.shape
    return heads.transpose(-3, -2).reshape(*lead, seq, num_heads * d_head)


def _laid_across_tokens(heads: Tensor) -> Tensor:
    *lead, num_heads, seq, d_head = heads.shape
    return heads.reshape(*lead, seq, num_heads * d_head)


def _cut_interleaved(features: Tensor, num_heads: int) -> Tensor:
    return features.unflatten(-1, (-1, num_heads)).movedim(-1, -3)


def _laid_interleaved(heads: Tensor) -> Tensor:
    return heads.movedim(-3, -1).flatten(-2)


def _uncut(features: Tensor, _num_heads: int) -> Tensor:
    return features.unsqueeze(-3)


def _last_for_all(features: Tensor, num_heads: int) -> Tensor:
    heads = split_heads(features, num_heads)
    return heads[..., -1:, :, :].expand_as(heads)


def _first_for_all(features: Tensor, num_heads: int) -> Tensor:
    heads = split_heads(features, num_heads)
    return heads[..., :1, :, :].expand_as(heads)


def _last_weight_for_all(weights: Tensor) -> Tensor:
    return weights[-1:].expand_as(weights)


def _first_weight_for_all(weights: Tensor) -> Tensor:
    return weights[:1].expand_as(weights)


_WITHIN_TOKENS = (MULTIHEAD_SELF, MULTIHEAD)
_SHARING = (STACKED, *PROJECTED)

MISTAKES = (
    Mistake(
        "heads-split-without-transpose",
        "Your features are split into heads without swapping the axes of heads and tokens, "
        "which mixes tokens up.",
        "If three tokens have the features 0 to 3, 4 to 7 and 8 to 11, which numbers belong to the "
        "first of two heads?",
        (
            Way({"split_heads": _cut_across_tokens}, PROJECTED),
            Way(
                {"split_heads": _cut_within_tokens, "merge_heads": _laid_within_tokens},
                _WITHIN_TOKENS,
            ),
            Way(
                {"split_heads": _cut_within_tokens, "merge_heads": _laid_back_twice},
                _WITHIN_TOKENS,
            ),
        ),
    ),
    Mistake(
        "heads-merge-without-transpose",
        "The outputs of your heads are merged without swapping the axes of heads and tokens, "
        "which mixes tokens up.",
        "Just before you merge, do the outputs that belong to one token lie next to each other?",
        (Way({"merge_heads": _laid_across_tokens}, (STACKED, *PROJECTED)),),
    ),
    Mistake(
        "heads-interleaved",
        "The features of your heads are interleaved, but each head should have a block of "
        "neighbouring ones.",
        "With two heads and four features, which features belong to the first head, when you split "
        "and when you merge?",
        (
            Way({"split_heads": _cut_interleaved, "merge_heads": _laid_interleaved}, PROJECTED),
            Way({"split_heads": _cut_interleaved}, PROJECTED),
            Way({"merge_heads": _laid_interleaved}, (STACKED, *PROJECTED)),
        ),
    ),
    Mistake(
        "single-head",
        "All features are used by one head, as if the number of heads were 1.",
        "Where in your code does the number of heads make a difference to the scores?",
        (Way({"split_heads": _uncut}, PROJECTED),),
    ),
    Mistake(
        "heads-share-weights",
        "Your result holds one head's output several times, in place of each head's own.",
        "Which weights does each head use, and whose outputs are joined?",
        (
            Way({"split_heads": _last_for_all, "stacked_weights": _last_weight_for_all}, _SHARING),
            Way(
                {"split_heads": _first_for_all, "stacked_weights": _first_weight_for_all}, _SHARING
            ),
        ),
    ),
)
