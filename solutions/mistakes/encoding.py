"""Mistakes in the sinusoidal encoding of positions."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..steps import side_by_side
from .mistake import Mistake, Way

_ENCODING = ("run_sinusoidal_positional_encoding",)
_Angles = Callable[[Tensor, int], tuple[Tensor, Tensor]]


def _with_exponents(of_sine: Callable[[Tensor], Tensor], of_cosine: object = None) -> _Angles:
    """Returns angles that use another number in place of each pair's first feature."""
    exponents = (of_sine, of_cosine if callable(of_cosine) else of_sine)

    def angles(positions: Tensor, d_model: int) -> tuple[Tensor, Tensor]:
        first = torch.arange(0, d_model, 2, dtype=torch.float64)
        sine, cosine = (positions[:, None] * 10000.0 ** (-of(first) / d_model) for of in exponents)
        return sine, cosine

    return angles


def _cosines_first(sines: Tensor, cosines: Tensor) -> Tensor:
    return side_by_side(cosines, sines)


def _in_halves(sines: Tensor, cosines: Tensor) -> Tensor:
    return torch.cat((sines, cosines), dim=-1)


def _plus_one(positions: Tensor) -> Tensor:
    return positions + 1


MISTAKES = (
    Mistake(
        "positional-frequency",
        "The frequencies of your waves differ from the formula's: an exponent is wrong.",
        "For four features, which exponents does the formula have, and which ones does your code "
        "have?",
        (
            Way({"wave_angles": _with_exponents(lambda first: 2 * first)}, _ENCODING),
            Way({"wave_angles": _with_exponents(lambda first: first / 2)}, _ENCODING),
            Way(
                {"wave_angles": _with_exponents(lambda first: first, lambda first: first + 1)},
                _ENCODING,
            ),
            Way(
                {
                    "wave_angles": _with_exponents(
                        lambda first: 2 * first, lambda first: 2 * (first + 1)
                    )
                },
                _ENCODING,
            ),
        ),
    ),
    Mistake(
        "positional-sin-cos-swapped",
        "Sines and cosines are swapped in your encoding.",
        "Which number should the very first feature of position 0 be?",
        (Way({"arrange_waves": _cosines_first}, _ENCODING),),
    ),
    Mistake(
        "positional-halves",
        "Your encoding has all sines in its first half and all cosines in its second, but they "
        "should alternate.",
        "Which features are sines: the even ones, or the first ones?",
        (Way({"arrange_waves": _in_halves}, _ENCODING),),
        alone=True,
    ),
    Mistake(
        "positional-from-one",
        "Your encoding counts positions from 1.",
        "Which sines and cosines has the first position, and which ones has your result?",
        (Way({"wave_positions": _plus_one}, _ENCODING),),
        alone=True,
    ),
)
