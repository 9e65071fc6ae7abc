"""Mistakes in masks: wrong uses, and wrong positions in the causal mask."""

import torch
from torch import Tensor

from ..steps import causal_mask, mask_scores
from .mistake import (
    CAUSAL,
    CAUSAL_SELF,
    MASKED,
    MULTIHEAD,
    PROJECTED,
    SELF_ATTENTION,
    STACKED,
    Mistake,
    Way,
)

_CAUSAL_MASK = "run_causal_mask"
_FAR_BELOW = -1e9  # as good as minus infinity, except where every key is hidden


def _inverted(scaled: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scaled, ~mask)


def _inverted_finitely(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(mask, _FAR_BELOW)


def _masked_finitely(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(~mask, _FAR_BELOW)


def _unmasked(scaled: Tensor, _mask: Tensor) -> Tensor:
    return scaled


def _added(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled + mask.to(scaled.dtype)


def _filled_with_zero(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(~mask, 0.0)


def _removed(weights: Tensor, mask: Tensor) -> Tensor:
    return weights.masked_fill(~mask, 0.0)


def _with_an_axis(scaled: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scaled, mask.unsqueeze(-3))


def _with_an_axis_in_front(scaled: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scaled, mask[None])


def _with_two_axes(scaled: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scaled, mask[None, None])


def _with_three_axes(scaled: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scaled, mask[None, None, None])


def _hidden(seq_len: int) -> Tensor:
    return ~causal_mask(seq_len)


def _everything(seq_len: int) -> Tensor:
    return torch.ones(seq_len, seq_len, dtype=torch.bool)


def _upper_triangle(seq_len: int) -> Tensor:
    return causal_mask(seq_len).T


def _next_as_well(seq_len: int) -> Tensor:
    return _everything(seq_len).tril(1)


def _earlier_only(seq_len: int) -> Tensor:
    return _everything(seq_len).tril(-1)


def _earlier_or_first(seq_len: int) -> Tensor:
    mask = _earlier_only(seq_len)
    mask[:1, :1] = True
    return mask


def _causal_anyway(queries: int, keys: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril()


def _causal_among_queries(queries: int, _keys: int) -> Tensor:
    return causal_mask(queries)


MISTAKES = (
    Mistake(
        "mask-inverted",
        "Your mask works the wrong way round: what it allows is hidden, and what it hides is seen.",
        "Does True in a mask stand for allowed or hidden here, and which scores do you overwrite?",
        (
            Way({"mask_scores": _inverted}, (*MASKED, *CAUSAL)),
            Way({"mask_scores": _inverted_finitely}, (*MASKED, *CAUSAL)),
            Way({"causal_mask": _hidden}, (_CAUSAL_MASK,)),
        ),
    ),
    Mistake(
        "mask-ignored",
        "Your result is the same with and without a mask.",
        "Follow the mask through your code: does it reach the softmax?",
        (Way({"mask_scores": _unmasked}, (*MASKED, *CAUSAL)),),
        echoes=CAUSAL,
    ),
    Mistake(
        "mask-added",
        "Your mask is added to the scores as ones and zeros, which hides nothing.",
        "How much weight does a key still get when its score is one less than the others?",
        (Way({"mask_scores": _added}, (*MASKED, *CAUSAL)),),
    ),
    Mistake(
        "mask-zero-fill",
        "Hidden keys get the score 0 before the softmax, and so still get attention.",
        "Which number is the exponential of 0, and for which score is it 0?",
        (Way({"mask_scores": _filled_with_zero}, (*MASKED, *CAUSAL)),),
    ),
    Mistake(
        "mask-after-softmax",
        "Your mask removes weights after the softmax, so that the remaining ones do not sum to 1.",
        "When must a key be hidden so that the other weights still sum to 1?",
        (
            Way(
                {"mask_scores": _unmasked, "mask_weights": _removed},
                (*MASKED, *CAUSAL),
            ),
        ),
    ),
    Mistake(
        "mask-extra-axis",
        "Your mask gets more axes than the scores have, and passes them on to the result.",
        "Which shapes do your scores and your mask have when there is no axis for heads or for a "
        "batch?",
        (
            Way({"mask_scores": _with_an_axis}, MASKED),
            Way({"mask_scores": _with_an_axis_in_front}, (*MASKED, CAUSAL_SELF)),
            Way({"mask_scores": _with_two_axes}, (*MASKED, *CAUSAL)),
            # Each head by itself sees this if two axes are added.
            Way({"mask_scores": _with_three_axes}, (STACKED, *PROJECTED)),
        ),
        alone=True,
    ),
    Mistake(
        "causal-missing",
        "Your tokens see those that come after them: no causal mask takes effect.",
        "Change the last token of a sequence: should the results of the others change?",
        (Way({"causal_mask": _everything}, (_CAUSAL_MASK, *CAUSAL)),),
    ),
    Mistake(
        "causal-unasked",
        "Your tokens do not see those that come after them, although nobody asked for a causal "
        "mask.",
        "Which argument says in this exercise whether a token may look ahead?",
        (
            Way({"unasked_mask": _causal_anyway}, (SELF_ATTENTION, MULTIHEAD)),
            Way({"unasked_mask": _causal_among_queries}, (MULTIHEAD,)),
        ),
        alone=True,
    ),
    Mistake(
        "causal-reversed",
        "Your causal mask is transposed: each token sees itself and what comes after it, not "
        "what came before.",
        "Write down the mask for three tokens: what may the first of them see?",
        (Way({"causal_mask": _upper_triangle}, (_CAUSAL_MASK, *CAUSAL)),),
    ),
    Mistake(
        "causal-sees-next",
        "Your causal mask lets each token see the one after it.",
        "Count what the first token may see, and what the second may see.",
        (Way({"causal_mask": _next_as_well}, (_CAUSAL_MASK, *CAUSAL)),),
    ),
    Mistake(
        "causal-hides-self",
        "Your causal mask hides tokens from themselves.",
        "Does a token come before, after or at its own position, and which of these may it see?",
        (
            Way({"causal_mask": _earlier_only}, (_CAUSAL_MASK, *CAUSAL)),
            Way({"causal_mask": _earlier_only, "mask_scores": _masked_finitely}, CAUSAL),
            Way({"causal_mask": _earlier_or_first}, (_CAUSAL_MASK, *CAUSAL)),
        ),
    ),
)
