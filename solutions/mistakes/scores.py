"""Mistakes in scores, their scaling and their softmax."""

import math

import torch
from torch import Tensor

from ..steps import scale_unweighted, similarity, softmax
from .mistake import (
    ATTENTION,
    CAUSAL,
    CAUSAL_SELF,
    MASKED,
    MULTIHEAD,
    MULTIHEAD_ROPE,
    MULTIHEAD_SELF,
    PROJECTED,
    SCALED_DOT_PRODUCT,
    SELF_ATTENTION,
    STACKED,
    WEIGHTS,
    Mistake,
    Way,
)

_SIMPLE = "run_simple_self_attention"
_SOFTMAX = "run_softmax"
# Exercises with a case whose scores are large enough.
_LARGE_SCORES = (
    *(_SOFTMAX, _SIMPLE, WEIGHTS, SCALED_DOT_PRODUCT),
    *(MULTIHEAD_SELF, MULTIHEAD, MULTIHEAD_ROPE),
)


def _unscaled(scores: Tensor, _d_k: int, _width: int) -> Tensor:
    return scores


def _divided_by_d_k(scores: Tensor, d_k: int, _width: int) -> Tensor:
    return scores / d_k


def _multiplied(scores: Tensor, d_k: int, _width: int) -> Tensor:
    return scores * math.sqrt(d_k)


def _divided_by_width(scores: Tensor, _d_k: int, width: int) -> Tensor:
    return scores / math.sqrt(width)


def _scaled_unasked(scores: Tensor, d: int) -> Tensor:
    return scale_unweighted(scores, d) / math.sqrt(d)


def _naive_softmax(x: Tensor, dim: int) -> Tensor:
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def _below_the_largest_of_all(x: Tensor, dim: int) -> Tensor:
    return _naive_softmax(x - x.max(), dim)


def _softmax_of_last_axis(x: Tensor, _dim: int) -> Tensor:
    return softmax(x, -1)


def _softmax_over_sum_of_last_axis(x: Tensor, dim: int) -> Tensor:
    exponentials = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _softmax_of_everything(x: Tensor, _dim: int) -> Tensor:
    return softmax(x.flatten(), 0).view(x.shape)


def _softmax_of_everything_in_a_head(x: Tensor, _dim: int) -> Tensor:
    first = x.movedim(-3, 0)
    return softmax(first.flatten(1), 1).view(first.shape).movedim(0, -3)


def _shares_of_sum(x: Tensor, dim: int) -> Tensor:
    return x / x.sum(dim=dim, keepdim=True)


def _hidden_by_zero(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled * mask


def _summed_over_leading_axes(queries: Tensor, keys: Tensor) -> Tensor:
    scores = similarity(queries, keys)
    leading = tuple(range(scores.dim() - 2))
    return scores.sum(dim=leading) if leading else scores


def _summed_over_first_axis(queries: Tensor, keys: Tensor) -> Tensor:
    return similarity(queries, keys).sum(dim=0)


def _summed_in_a_head(queries: Tensor, keys: Tensor) -> Tensor:
    scores = similarity(queries, keys)
    leading = tuple(range(scores.dim() - 3))
    return scores.sum(dim=leading) if leading else scores


def _summed_over_first_axis_in_a_head(queries: Tensor, keys: Tensor) -> Tensor:
    scores = similarity(queries, keys)
    return scores.sum(dim=0) if scores.dim() > 3 else scores.sum(dim=-2, keepdim=True)


def _transposed(queries: Tensor, keys: Tensor) -> Tensor:
    return similarity(keys, queries)


def _keys_first(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return second, first, third


MISTAKES = (
    Mistake(
        "no-scale",
        "Your scores are not scaled before the softmax.",
        "How does the spread of a dot product grow with the number of features, and what undoes "
        "that?",
        (Way({"scale": _unscaled}, ATTENTION),),
    ),
    Mistake(
        "scale-by-d_k",
        "Your scores are divided by d_k itself, which makes them too small.",
        "Look at the denominator in the formula once more: is it the root of d_k, and do you "
        "divide by it once?",
        (Way({"scale": _divided_by_d_k}, ATTENTION),),
    ),
    Mistake(
        "scale-inverted",
        "Your scores are multiplied by the factor that should make them smaller.",
        "Should scores become larger or smaller when there are more features?",
        (Way({"scale": _multiplied}, ATTENTION),),
    ),
    Mistake(
        "scale-by-d_model",
        "Your scores are scaled by the width of the tokens instead of the width of each query and "
        "key.",
        "How many products does one score add up, and which axis has that many entries?",
        (Way({"scale": _divided_by_width}, (SELF_ATTENTION, *CAUSAL)),),
    ),
    Mistake(
        "scale-unasked",
        "Your scores are scaled, which this first, simplest attention does not do yet.",
        "Compare what you compute with the formula of this exercise: is there anything in yours "
        "that is not in it?",
        (Way({"scale_unweighted": _scaled_unasked}, (_SIMPLE,)),),
        alone=True,
    ),
    Mistake(
        "softmax-over-queries",
        "Your softmax runs along the queries, so that the weights of one query do not sum to 1.",
        "Which weights must add up to 1, and along which axis of the scores do they lie?",
        (
            Way({"axis_of_keys": -2}, (_SIMPLE, *ATTENTION)),
            Way({"axis_of_keys": 1}, (_SIMPLE, SELF_ATTENTION, *MASKED, CAUSAL_SELF)),
        ),
    ),
    Mistake(
        "softmax-over-heads",
        "Your softmax runs along the heads, so that the weights within one head do not sum to 1.",
        "Which axes have the scores of all heads, in which order, and along which one do the "
        "weights of one query lie?",
        (
            Way({"axis_of_keys": 1}, (STACKED, *PROJECTED)),
            Way({"axis_of_keys": -3}, (STACKED, *PROJECTED)),
        ),
        alone=True,
    ),
    Mistake(
        "softmax-unstable",
        "Your softmax takes the exponential without subtracting the largest number: inf / inf and "
        "0 / 0 are NaN.",
        "Which value can you subtract from all scores without changing the softmax?",
        (Way({"softmax": _naive_softmax}, _LARGE_SCORES),),
        alone=True,
        own_dtype=True,
    ),
    Mistake(
        "softmax-one-maximum",
        "Your softmax subtracts the largest value of the whole tensor, so that a row far below it "
        "becomes 0 / 0.",
        "How large is the exponential of -1000, and how many largest values should three rows "
        "have?",
        (Way({"softmax": _below_the_largest_of_all}, _LARGE_SCORES),),
        alone=True,
        own_dtype=True,
    ),
    Mistake(
        "softmax-ignores-dim",
        "Your softmax always runs along the last axis, whatever axis was asked for.",
        "Where does your function use its second argument?",
        (
            Way({"softmax": _softmax_of_last_axis}, (_SOFTMAX,)),
            Way({"softmax": _softmax_over_sum_of_last_axis}, (_SOFTMAX,)),
        ),
        alone=True,
    ),
    Mistake(
        "softmax-over-everything",
        "Your softmax divides by the sum over the whole tensor, so that all its entries together "
        "sum to 1.",
        "How many numbers should your sum have: one, or one for each row?",
        (
            Way({"softmax": _softmax_of_everything}, (_SOFTMAX, _SIMPLE, *ATTENTION)),
            Way({"softmax": _softmax_of_everything_in_a_head}, (STACKED, *PROJECTED)),
        ),
        alone=True,
    ),
    Mistake(
        "softmax-without-exponential",
        "Your scores are divided by their sum without taking the exponential first.",
        "Where do negative scores go in your code, and can an attention weight be negative?",
        (
            Way({"softmax": _shares_of_sum}, (_SOFTMAX, _SIMPLE, *ATTENTION)),
            Way({"softmax": _shares_of_sum, "mask_scores": _hidden_by_zero}, (*MASKED, *CAUSAL)),
        ),
        alone=True,
        own_dtype=True,
    ),
    Mistake(
        "batch-summed",
        "Your scores are added up over the sequences of the batch or over the heads, which should "
        "stay apart.",
        "Which axes of your queries are missing from your scores, and where did they go?",
        (
            Way({"similarity": _summed_over_leading_axes}, (_SIMPLE, *ATTENTION)),
            Way({"similarity": _summed_over_first_axis}, (_SIMPLE, *ATTENTION)),
            Way({"similarity": _summed_in_a_head}, (STACKED, *PROJECTED)),
            Way({"similarity": _summed_over_first_axis_in_a_head}, (STACKED, *PROJECTED)),
        ),
        alone=True,
    ),
    Mistake(
        "qk-swapped",
        "Your queries and keys are swapped.",
        "Which weight makes your queries, and which token does a row of your scores belong to?",
        (
            Way({"similarity": _transposed}, ATTENTION),
            Way({"weights_in_order": _keys_first}, (MULTIHEAD,)),
            Way({"inputs_in_order": _keys_first}, (MULTIHEAD,)),
        ),
    ),
)
