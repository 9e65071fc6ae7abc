"""Mistakes in the projections: wrong weights, and wrong uses of them."""

import math

import torch
from torch import Tensor

from ..steps import multiply, multiply_transposed
from .mistake import (
    CAUSAL,
    CAUSAL_SELF,
    MULTIHEAD,
    MULTIHEAD_ROPE,
    PROJECTED,
    SCALED_DOT_PRODUCT,
    SELF_ATTENTION,
    STACKED,
    Mistake,
    Way,
)


def _unprojected(merged: Tensor, _weight: Tensor) -> Tensor:
    return merged


def _multiplied_by_diagonal(features: Tensor, weight: Tensor) -> Tensor:
    return features * weight.diagonal()


def _values_second(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return first, third, second


def _values_unprojected(
    first: Tensor, second: Tensor, third: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return first, second, torch.eye(third.shape[-2], dtype=third.dtype, device=third.device)


def _drawn_anew(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _drawn_like(first), _drawn_like(second), _drawn_like(third)


def _by_a_drawn_weight(merged: Tensor, weight: Tensor) -> Tensor:
    return multiply_transposed(merged, _drawn_like(weight))


def _drawn_like(weight: Tensor) -> Tensor:
    return torch.randn_like(weight) / math.sqrt(weight.shape[-1])


MISTAKES = (
    Mistake(
        "output-projection-missing",
        "The merged outputs of your heads are returned without the output projection.",
        "Which of the four weights has no effect on your result?",
        (Way({"project_output": _unprojected}, PROJECTED),),
    ),
    Mistake(
        "value-projection-missing",
        "Your attention averages the tokens themselves, without the value projection.",
        "Does your result change when you multiply the value weight by 2?",
        (Way({"weights_in_order": _values_unprojected}, (SELF_ATTENTION, *CAUSAL)),),
    ),
    Mistake(
        "projection-transposed",
        "Your projection sums over the wrong axis of a weight: its rows and columns are swapped.",
        "Which axis of the weight belongs to the features that come in, and which axis does your "
        "product sum over?",
        (
            Way({"project": multiply, "project_output": multiply}, PROJECTED),
            Way({"project": multiply}, PROJECTED),
            Way({"multiply": multiply_transposed}, (SELF_ATTENTION, CAUSAL_SELF)),
        ),
    ),
    Mistake(
        "output-projection-transposed",
        "Your output projection sums over the wrong axis of its weight: rows and columns are "
        "swapped.",
        "Over which axis of the output weight does your product sum, and which one holds the "
        "features that come in?",
        (Way({"project_output": multiply}, PROJECTED),),
    ),
    Mistake(
        "projection-diagonal",
        "Your projection uses only the diagonal of a weight, as if each feature depended only on "
        "itself.",
        "Do the two axes of your weight go by the same letter, and what does a repeated letter "
        "mean?",
        (
            Way(
                {"project": _multiplied_by_diagonal, "project_output": _multiplied_by_diagonal},
                PROJECTED,
            ),
            Way({"project": _multiplied_by_diagonal}, PROJECTED),
            Way({"project_output": _multiplied_by_diagonal}, PROJECTED),
        ),
        alone=True,
    ),
    Mistake(
        "kv-swapped",
        "Your keys and values are swapped.",
        "Which of the two are compared with the queries, and which are averaged?",
        (
            Way({"weights_in_order": _values_second}, (MULTIHEAD, MULTIHEAD_ROPE)),
            Way(
                {"tensors_in_order": _values_second}, (SCALED_DOT_PRODUCT, SELF_ATTENTION, *CAUSAL)
            ),
            Way({"inputs_in_order": _values_second}, (MULTIHEAD,)),
        ),
    ),
    Mistake(
        "weights-not-loaded",
        "Your layers keep their random initial weights: the weights that the caller passes are "
        "never loaded.",
        "Print a weight of your layer before and after you load it: is it the one that was passed?",
        (
            Way({"weights_in_order": _drawn_anew, "project_output": _by_a_drawn_weight}, PROJECTED),
            Way({"weights_in_order": _drawn_anew}, (SELF_ATTENTION, CAUSAL_SELF, STACKED)),
        ),
        alone=True,
        ignores=(
            *("W_query", "W_key", "W_value"),
            *("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight"),
        ),
    ),
)
