"""Mistakes in the softmax, in scores and in their scaling."""

import math

import torch
from torch import Tensor

from ..steps import mask_scores, similarity, softmax
from .mistake import (
    ATTENTION,
    CAUSAL,
    MULTIHEAD,
    MULTIHEAD_ROPE,
    SCALED_DOT_PRODUCT,
    Mistake,
    Way,
    ways,
)

_SOFTMAX = ("run_softmax",)
_MASKED = (SCALED_DOT_PRODUCT,)


def _naive(x: Tensor, dim: int) -> Tensor:
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def _below_the_largest_of_all(x: Tensor, dim: int) -> Tensor:
    return _naive(x - x.max(), dim)


def _of_last_axis(x: Tensor, _dim: int) -> Tensor:
    return softmax(x, -1)


def _over_sum_of_last_axis(x: Tensor, dim: int) -> Tensor:
    exponentials = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _of_everything(x: Tensor, _dim: int) -> Tensor:
    return softmax(x.flatten(), 0).view(x.shape)


def _shares_of_sum(x: Tensor, dim: int) -> Tensor:
    return x / x.sum(dim=dim, keepdim=True)


def _logarithm(x: Tensor, dim: int) -> Tensor:
    return torch.log_softmax(x, dim)


def _unscaled(scores: Tensor, _d_k: int, _width: int) -> Tensor:
    return scores


def _divided_by_d_k(scores: Tensor, d_k: int, _width: int) -> Tensor:
    return scores / d_k


def _multiplied(scores: Tensor, d_k: int, _width: int) -> Tensor:
    return scores * math.sqrt(d_k)


def _divided_by_width(scores: Tensor, _d_k: int, width: int) -> Tensor:
    return scores / math.sqrt(width)


def _transposed(queries: Tensor, keys: Tensor) -> Tensor:
    return similarity(keys, queries)


def _values_second(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, ...]:
    return first, third, second


def _inverted(scaled: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scaled, ~mask)


def _inverted_finitely(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(mask, -1e9)


def _masked_finitely(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(~mask, -1e9)


def _unmasked(scaled: Tensor, _mask: Tensor) -> Tensor:
    return scaled


def _added(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled + mask.to(scaled.dtype)


def _filled_with_zero(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(~mask, 0.0)


def _removed(weights: Tensor, mask: Tensor) -> Tensor:
    return weights.masked_fill(~mask, 0.0)


def _made_infinite(weights: Tensor, mask: Tensor) -> Tensor:
    return weights.masked_fill(~mask, -math.inf)


def _everything(seq_len: int) -> Tensor:
    return torch.ones(seq_len, seq_len, dtype=torch.bool)


def _upper_triangle(seq_len: int) -> Tensor:
    return _everything(seq_len).triu()


def _next_as_well(seq_len: int) -> Tensor:
    return _everything(seq_len).tril(1)


def _earlier_only(seq_len: int) -> Tensor:
    return _everything(seq_len).tril(-1)


def _lower_triangle(queries: int, keys: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril()


MISTAKES = (
    Mistake(
        "softmax-ignores-dim",
        "Your softmax always runs along the last axis, whatever axis was asked for.",
        "Where does your function use its second argument?",
        ways(
            Way(_SOFTMAX, {"softmax": _of_last_axis}),
            Way(_SOFTMAX, {"softmax": _over_sum_of_last_axis}),
        ),
    ),
    Mistake(
        "softmax-over-everything",
        "Your softmax divides by the sum over the whole tensor, so that all its entries together "
        "sum to 1.",
        "How many numbers should your sum have: one, or one for each row?",
        ways(Way((*_SOFTMAX, *ATTENTION), {"softmax": _of_everything})),
    ),
    Mistake(
        "softmax-without-exponential",
        "Your scores are divided by their sum without taking the exponential first.",
        "Which share does a negative score get, and can a share be negative?",
        ways(Way(_SOFTMAX, {"softmax": _shares_of_sum})),
        own_dtype=True,
    ),
    Mistake(
        "softmax-logarithm",
        "Your softmax returns logarithms of the shares.",
        "Can a share be negative, and what should a row of yours sum to?",
        ways(Way(_SOFTMAX, {"softmax": _logarithm})),
    ),
    Mistake(
        "softmax-unstable",
        "Your softmax takes the exponential without subtracting the largest number: inf / inf and "
        "0 / 0 are NaN.",
        "Which value can you subtract from all scores without changing the softmax?",
        ways(Way((*_SOFTMAX, SCALED_DOT_PRODUCT, MULTIHEAD, MULTIHEAD_ROPE), {"softmax": _naive})),
        own_dtype=True,
    ),
    Mistake(
        "softmax-one-maximum",
        "Your softmax subtracts the largest value of the whole tensor, so that a row far below it "
        "becomes 0 / 0.",
        "How large is the exponential of -1000, and how many largest values should three rows "
        "have?",
        ways(Way((*_SOFTMAX, SCALED_DOT_PRODUCT), {"softmax": _below_the_largest_of_all})),
        own_dtype=True,
    ),
    Mistake(
        "no-scale",
        "Your scores are not scaled before the softmax.",
        "How does the spread of a dot product grow with the number of features, and what undoes "
        "that?",
        ways(Way(ATTENTION, {"scale": _unscaled})),
    ),
    Mistake(
        "scale-by-d_k",
        "Your scores are divided by d_k itself, which makes them too small.",
        "Look at the denominator in the formula once more: is it the root of d_k, and do you "
        "divide by it once?",
        ways(Way(ATTENTION, {"scale": _divided_by_d_k})),
    ),
    Mistake(
        "scale-inverted",
        "Your scores are multiplied by the factor that should make them smaller.",
        "Should scores become larger or smaller when there are more features?",
        ways(Way(ATTENTION, {"scale": _multiplied})),
    ),
    Mistake(
        "scale-by-d_model",
        "Your scores are scaled by the width of the tokens instead of the width of each query and "
        "key.",
        "How many products does one score add up, and which axis has that many entries?",
        ways(Way(CAUSAL, {"scale": _divided_by_width})),
    ),
    Mistake(
        "softmax-over-queries",
        "Your softmax runs along the queries, so that the weights of one query do not sum to 1.",
        "Which weights must add up to 1, and along which axis of the scores do they lie?",
        ways(Way(ATTENTION, {"axis_of_keys": -2}), Way(_MASKED, {"axis_of_keys": 1})),
    ),
    Mistake(
        "softmax-over-heads",
        "Your softmax runs along the heads, so that the weights within one head do not sum to 1.",
        "Which axes have the scores of all heads, in which order, and along which one do the "
        "weights of one query lie?",
        ways(Way(CAUSAL, {"axis_of_keys": 1}), Way(CAUSAL, {"axis_of_keys": -3})),
    ),
    Mistake(
        "qk-swapped",
        "Your queries and keys are swapped.",
        "Which weight makes your queries, and which token does a row of your scores belong to?",
        ways(Way(ATTENTION, {"similarity": _transposed})),
    ),
    Mistake(
        "kv-swapped",
        "Your keys and values are swapped.",
        "Which of the two are compared with the queries, and which are averaged?",
        ways(
            Way(CAUSAL, {"projections_in_order": _values_second}),
            Way((SCALED_DOT_PRODUCT, MULTIHEAD), {"tensors_in_order": _values_second}),
        ),
    ),
    Mistake(
        "mask-inverted",
        "Your mask works the wrong way round: what it allows is hidden, and what it hides is seen.",
        "Does True in a mask allow or hide, and which scores do you overwrite?",
        ways(
            Way(ATTENTION, {"mask_scores": _inverted}),
            Way(ATTENTION, {"mask_scores": _inverted_finitely}),
        ),
    ),
    Mistake(
        "mask-ignored",
        "Your result is the same with and without a mask.",
        "Follow the mask through your code: does it reach the softmax?",
        ways(Way(ATTENTION, {"mask_scores": _unmasked})),
        echoes=CAUSAL,
    ),
    Mistake(
        "mask-added",
        "Your mask is added to the scores as ones and zeros, which hides nothing.",
        "By which factor does a key's share shrink when its score is one less than that of the "
        "others?",
        ways(Way(ATTENTION, {"mask_scores": _added})),
    ),
    Mistake(
        "mask-zero-fill",
        "Hidden keys get the score 0 before the softmax, and so still get attention.",
        "How large is the exponential of 0, and which number has an exponential of 0?",
        ways(Way(ATTENTION, {"mask_scores": _filled_with_zero})),
    ),
    Mistake(
        "mask-after-softmax",
        "Your mask removes weights after the softmax, so that the remaining ones do not sum to 1.",
        "When must a key be hidden so that the other weights still sum to 1?",
        ways(Way(ATTENTION, {"mask_scores": _unmasked, "mask_weights": _removed})),
    ),
    Mistake(
        "mask-infinite-weights",
        "Your mask writes -inf into the weights: the softmax, which turns it into 0, is over.",
        "On which side of the softmax does -inf become a weight of 0?",
        ways(Way(ATTENTION, {"mask_scores": _unmasked, "mask_weights": _made_infinite})),
    ),
    Mistake(
        "causal-unasked",
        "Without a mask, your tokens do not see those that come after them.",
        "Which keys may a query see if `mask` is None?",
        ways(Way(_MASKED, {"unasked_mask": _lower_triangle})),
    ),
    Mistake(
        "causal-missing",
        "Your tokens see those that come after them: no causal mask takes effect.",
        "Change the last token of a sequence: should the results of the others change?",
        ways(Way(CAUSAL, {"causal_mask": _everything})),
    ),
    Mistake(
        "causal-reversed",
        "Your causal mask is transposed: each token sees itself and what comes after it, not "
        "what came before.",
        "Write down the mask for three tokens: what may the first of them see?",
        ways(Way(CAUSAL, {"causal_mask": _upper_triangle})),
    ),
    Mistake(
        "causal-sees-next",
        "Your causal mask lets each token see the one after it.",
        "Count what the first token may see, and what the second may see.",
        ways(Way(CAUSAL, {"causal_mask": _next_as_well})),
    ),
    Mistake(
        "causal-hides-self",
        "Your causal mask hides each token from itself, and leaves the first one with nothing to "
        "see.",
        "Does a token come before, after or at its own position, and which of these may it see?",
        ways(
            Way(CAUSAL, {"causal_mask": _earlier_only}),
            Way(CAUSAL, {"causal_mask": _earlier_only, "mask_scores": _masked_finitely}),
        ),
    ),
)
