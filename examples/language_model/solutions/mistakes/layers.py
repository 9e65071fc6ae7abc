"""Mistakes in the layers: embedding, activation, feed-forward layer and norm."""

import torch
from torch import Tensor

from ..steps import gain, look_up, silu
from .mistake import FED, MODEL, NORMED, WHOLE, Mistake, Way, ways

_EMBEDDED = ("run_embedding", MODEL)
_SILU = ("run_silu",)
_SWIGLU = ("run_swiglu",)
_RMSNORM = ("run_rmsnorm",)
_ACTIVATED = (*_SILU, *FED)


def _rows_from_one(weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights[token_ids.long() - 1]


def _scaled_up(weights: Tensor, token_ids: Tensor) -> Tensor:
    return look_up(weights, token_ids) * weights.shape[-1] ** 0.5


def _columns(weights: Tensor, token_ids: Tensor) -> Tensor:
    return weights.T[token_ids]


def _relu(x: Tensor) -> Tensor:
    return x.clamp(min=0)


def _gelu(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x)


def _gelu_by_tanh(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


def _quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def _sigmoid(x: Tensor) -> Tensor:
    return torch.sigmoid(x)


def _by_sigmoid_of_minus(x: Tensor) -> Tensor:
    return x * torch.sigmoid(-x)


def _overflowing(x: Tensor) -> Tensor:
    return x * x.exp() / (1 + x.exp())


def _unchanged(x: Tensor) -> Tensor:
    return x


def _third_first(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return third, second, first


def _second_last(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return first, third, second


def _second_first(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return second, first, third


def _first_alone(opened: Tensor, _gated: Tensor) -> Tensor:
    return opened


def _second_alone(_opened: Tensor, gated: Tensor) -> Tensor:
    return gated


def _both_activated(opened: Tensor, gated: Tensor) -> Tensor:
    return opened * silu(gated)


def _activated_product(first: Tensor, second: Tensor) -> Tensor:
    return silu(first * second)


def _first_for_both(first: Tensor, second: Tensor, _third: Tensor) -> tuple[Tensor, ...]:
    return first, second, first


def _without_last(first: Tensor, _second: Tensor, third: Tensor) -> tuple[Tensor, ...]:
    return first, torch.eye(len(first), dtype=first.dtype, device=first.device), third


def _all_transposed(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, ...]:
    return first.T, second.T, third.T


def _times(features: Tensor, weight: Tensor) -> Tensor:
    return features @ weight


def _centred(x: Tensor, _squared: Tensor, eps: float) -> Tensor:
    variance = x.var(-1, keepdim=True, correction=0)
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps)


def _centred_above(x: Tensor, squared: Tensor, eps: float) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(squared + eps)


def _by_variance(x: Tensor, _squared: Tensor, eps: float) -> Tensor:
    return x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps)


def _eps_beside(x: Tensor, squared: Tensor, eps: float) -> Tensor:
    return x / (squared.sqrt() + eps)


def _without_eps(x: Tensor, squared: Tensor, _eps: float) -> Tensor:
    return x / squared.sqrt()


def _without_root(x: Tensor, squared: Tensor, eps: float) -> Tensor:
    return x / (squared + eps)


def _times_root(x: Tensor, squared: Tensor, eps: float) -> Tensor:
    return x * torch.sqrt(squared + eps)


def _sum_of_squares(x: Tensor) -> Tensor:
    return x.square().sum(-1, keepdim=True)


def _square_of_mean(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True).square()


def _over_tokens(x: Tensor) -> Tensor:
    return x.square().mean(-2, keepdim=True)


def _over_everything(x: Tensor) -> Tensor:
    return x.square().mean()


def _ungained(normalised: Tensor, _weights: Tensor) -> Tensor:
    return normalised


def _gained_from_one(normalised: Tensor, weights: Tensor) -> Tensor:
    return gain(normalised, 1.0 + weights)


def _gain_added(normalised: Tensor, weights: Tensor) -> Tensor:
    return normalised + weights


MISTAKES = (
    Mistake(
        "embedding-from-one",
        "Your embedding takes the row before that of each token, as if ids began at 1.",
        "Which token has the id 0, and which row is its?",
        ways(Way(_EMBEDDED, {"look_up": _rows_from_one})),
    ),
    Mistake(
        "embedding-scaled",
        "Your embedding multiplies the vectors by the root of their width, which this model "
        "does not do.",
        "Which result do you expect for a token whose row holds ones?",
        ways(Way(_EMBEDDED, {"look_up": _scaled_up})),
    ),
    Mistake(
        "embedding-columns",
        "Your embedding takes columns of its weights, but each token has a row.",
        "Which axis of the weights has as many entries as there are tokens?",
        ways(Way(("run_embedding",), {"look_up": _columns})),
    ),
    Mistake(
        "projection-transposed",
        "Your projection sums over the wrong axis of a weight: its rows and columns are swapped.",
        "Which axis of the weight belongs to the features that come in, and which axis does your "
        "product sum over?",
        ways(
            Way(("run_linear",), {"multiply": _times}),
            Way(_SWIGLU, {"feed_weights_in_order": _all_transposed}),
            Way(
                ("run_multihead_self_attention", "run_multihead_self_attention_with_rope", *WHOLE),
                {"project": _times, "project_output": _times},
            ),
            Way(
                ("run_multihead_self_attention", "run_multihead_self_attention_with_rope", *WHOLE),
                {"project": _times},
            ),
        ),
    ),
    Mistake(
        "relu-for-silu",
        "Your activation is a ReLU.",
        "Which value does a SiLU have at -1?",
        ways(Way(_ACTIVATED, {"activate": _relu})),
    ),
    Mistake(
        "gelu-for-silu",
        "Your activation is a GELU instead of a SiLU.",
        "Which function of x is the second factor?",
        ways(
            Way(_ACTIVATED, {"activate": _gelu}),
            Way(_ACTIVATED, {"activate": _gelu_by_tanh}),
            Way(_ACTIVATED, {"activate": _quick_gelu}),
        ),
    ),
    Mistake(
        "sigmoid-for-silu",
        "Your activation is the sigmoid alone.",
        "By what is the sigmoid multiplied?",
        ways(Way(_ACTIVATED, {"activate": _sigmoid})),
    ),
    Mistake(
        "silu-sign",
        "Your sigmoid is that of -x.",
        "How large should the result be for large positive values, and how large is yours?",
        ways(Way(_ACTIVATED, {"activate": _by_sigmoid_of_minus})),
    ),
    Mistake(
        "silu-overflows",
        "Your SiLU takes the exponential of large numbers, which overflows.",
        "Does your code take the exponential of x or of -x, and how large is infinity divided by "
        "infinity?",
        ways(Way(_SILU, {"activate": _overflowing})),
        own_dtype=True,
    ),
    Mistake(
        "activation-missing",
        "Neither projection goes through the activation.",
        "Without it, what is your layer when the features double?",
        ways(Way(FED, {"activate": _unchanged})),
    ),
    Mistake(
        "activation-on-both",
        "Both projections go through the activation, but one of them should stay as it is.",
        "How many activations does the formula have?",
        ways(Way(FED, {"gate": _both_activated})),
    ),
    Mistake(
        "activation-after-product",
        "You multiply the two projections before the activation, which is meant for one of them.",
        "Which brackets of the formula stand around W3 x: those of the SiLU, or those behind W2?",
        ways(Way(FED, {"activate": _unchanged, "gate": _activated_product})),
    ),
    Mistake(
        "gate-swapped",
        "The activation is on the wrong one of the two projections.",
        "Around which weight's projection does the SiLU stand?",
        ways(Way(FED, {"feed_weights_in_order": _third_first})),
    ),
    Mistake(
        "gate-missing",
        "Only one projection goes into your result: nothing gates it.",
        "How many projections up does the formula have?",
        ways(Way(FED, {"gate": _first_alone}), Way(FED, {"gate": _second_alone})),
    ),
    Mistake(
        "gate-added",
        "You add the two projections, but they should be multiplied.",
        "Which result do you expect where the gate is 0?",
        ways(Way(FED, {"gate": torch.add})),
    ),
    Mistake(
        "gate-shares-weights",
        "Both of your projections up use the same weight.",
        "Which of the three weights has no effect on your result?",
        ways(Way(FED, {"feed_weights_in_order": _first_for_both})),
    ),
    Mistake(
        "feed-weights-mixed-up",
        "The weight that leads back is swapped with one that leads up.",
        "Which of the three weights comes last, whatever its number is?",
        ways(
            Way(FED, {"feed_weights_in_order": _second_last}),
            Way(FED, {"feed_weights_in_order": _second_first}),
        ),
    ),
    Mistake(
        "down-projection-missing",
        "Your feed-forward layer ends before the projection back.",
        "Which of the three weights has no effect on your result?",
        ways(Way(FED, {"feed_weights_in_order": _without_last})),
    ),
    Mistake(
        "mean-subtracted",
        "Your root mean square norm subtracts the mean, which only a layer norm does.",
        "Does the word mean appear in the formula anywhere but under the root?",
        ways(
            Way(NORMED, {"divide_by_root": _centred}),
            Way(NORMED, {"divide_by_root": _centred_above}),
        ),
    ),
    Mistake(
        "variance-for-mean-square",
        "You divide by the standard deviation, which is not the root mean square unless the mean "
        "is 0.",
        "Which root mean square does a vector of ones have, and which standard deviation?",
        ways(Way(NORMED, {"divide_by_root": _by_variance})),
    ),
    Mistake(
        "eps-outside-root",
        "You add eps to the root, but it belongs under it.",
        "For features of 0, how large is sqrt(0 + eps), and how large is sqrt(0) + eps?",
        ways(Way(_RMSNORM, {"divide_by_root": _eps_beside})),
    ),
    Mistake(
        "eps-missing",
        "Your norm leaves eps out.",
        "Which result does your code return for a vector of zeros?",
        ways(Way(_RMSNORM, {"divide_by_root": _without_eps})),
    ),
    Mistake(
        "root-missing",
        "You divide by the mean of the squares instead of its root.",
        "If every feature doubles, how should the result change?",
        ways(Way(NORMED, {"divide_by_root": _without_root})),
    ),
    Mistake(
        "root-multiplied",
        "You multiply by the root mean square, where you should divide by it.",
        "If every feature doubles, how should the result change?",
        ways(Way(_RMSNORM, {"divide_by_root": _times_root})),
    ),
    Mistake(
        "sum-for-mean",
        "You sum the squares, but they should be averaged.",
        "Which root mean square does a vector of ones have?",
        ways(Way(NORMED, {"mean_square": _sum_of_squares})),
    ),
    Mistake(
        "square-of-mean",
        "You square the mean, where you should average the squares.",
        "Which root mean square do 1 and -1 have?",
        ways(Way(_RMSNORM, {"mean_square": _square_of_mean})),
    ),
    Mistake(
        "norm-over-tokens",
        "You average over the tokens, but each token should be normalised on its own.",
        "Which axis holds the features of one token?",
        ways(Way(NORMED, {"mean_square": _over_tokens})),
    ),
    Mistake(
        "norm-over-everything",
        "You average over all values, but each token should be normalised on its own.",
        "How many means should there be for three tokens?",
        ways(Way(NORMED, {"mean_square": _over_everything})),
    ),
    Mistake(
        "gain-missing",
        "The gain of each feature has no effect on your result.",
        "Where are the weights in your code?",
        ways(Way(NORMED, {"gain": _ungained})),
    ),
    Mistake(
        "gain-from-one",
        "Your gain is one more than the weights say.",
        "Which result do you expect with weights of zero?",
        ways(Way(NORMED, {"gain": _gained_from_one})),
    ),
    Mistake(
        "gain-added",
        "You add the gain, but it should be multiplied.",
        "Which result do you expect with weights of zero?",
        ways(Way(NORMED, {"gain": _gain_added})),
    ),
)
