"""Mistakes in dropout."""

import torch
from torch import Tensor

from ..steps import kept
from .mistake import Mistake, Way

_DROPOUT = ("run_attention_dropout",)


def _unscaled(weights: Tensor, _p: float) -> Tensor:
    return weights


def _always(p: float, _training: bool) -> bool:
    return p > 0


def _kept_with_p(weights: Tensor, p: float) -> Tensor:
    return kept(weights, 1 - p)


def _divided_by_p(weights: Tensor, p: float) -> Tensor:
    return torch.div(weights, p)


def _never(_p: float, _training: bool) -> bool:
    return False


def _in_training(_p: float, training: bool) -> bool:
    return training


def _half_kept(weights: Tensor, _p: float) -> Tensor:
    return kept(weights, 0.5)


def _doubled(weights: Tensor, _p: float) -> Tensor:
    return 2 * weights


def _rows_kept(weights: Tensor, p: float) -> Tensor:
    return kept(weights[..., :1], p).expand_as(weights)


MISTAKES = (
    Mistake(
        "dropout-unscaled",
        "The weights that your dropout keeps are not scaled, so that on average they become "
        "smaller.",
        "If half of the weights are dropped, what must happen to the others for the mean to stay?",
        (Way({"rescale": _unscaled}, _DROPOUT),),
    ),
    Mistake(
        "dropout-in-eval",
        "Your dropout drops weights in evaluation too, where nothing should change.",
        "Which argument says whether the model is learning, and where do you look at it?",
        (Way({"drops": _always}, _DROPOUT),),
    ),
    Mistake(
        "dropout-keeps-p",
        "Your dropout keeps weights with the probability with which it should drop them.",
        "With a probability of 0.9, are many weights dropped or few?",
        (
            Way({"kept": _kept_with_p}, _DROPOUT),
            Way({"drops": _in_training, "kept": _kept_with_p}, _DROPOUT),
            Way({"kept": _kept_with_p, "rescale": _divided_by_p}, _DROPOUT),
        ),
        alone=True,
    ),
    Mistake(
        "dropout-missing",
        "Your dropout drops nothing while the model is learning.",
        "Call it with a large tensor of ones and a probability of one half: how many zeros come "
        "back?",
        (Way({"drops": _never}, _DROPOUT),),
        alone=True,
    ),
    Mistake(
        "dropout-ignores-p",
        "Your dropout drops half of the weights, whatever probability is passed.",
        "Where does your code use the probability?",
        (
            Way({"drops": _in_training, "kept": _half_kept, "rescale": _doubled}, _DROPOUT),
            Way({"kept": _half_kept, "rescale": _doubled}, _DROPOUT),
            Way({"kept": _half_kept}, _DROPOUT),
        ),
        alone=True,
    ),
    Mistake(
        "dropout-by-rows",
        "Your dropout keeps or drops whole rows, but each weight should be dropped on its own.",
        "How many random numbers does your code draw for a matrix of weights?",
        (Way({"kept": _rows_kept}, _DROPOUT),),
        alone=True,
    ),
)
