"""Mistakes in RoPE and in multi-head attention with it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..steps import rope_frequencies, rotate
from .mistake import MULTIHEAD_ROPE, ROTATED, Mistake, Way

_ROPE = ("run_rope",)
_WITH_ATTENTION = (MULTIHEAD_ROPE,)
_USUAL_THETA = 10_000.0


def _exponents(of: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int, float], Tensor]:
    """Returns frequencies that use `of` of each pair's first feature in place of that feature."""
    return lambda first_of_pair, d_k, theta: rope_frequencies(of(first_of_pair), d_k, theta)


def _usual_theta(first_of_pair: Tensor, d_k: int, _theta: float) -> Tensor:
    return rope_frequencies(first_of_pair, d_k, _USUAL_THETA)


def _turned_by_halves(vectors: Tensor) -> Tensor:
    first, second = vectors.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def _halves(vectors: Tensor, angles: Tensor) -> Tensor:
    cos, sin = torch.cos(angles), torch.sin(angles)
    return vectors * torch.cat((cos, cos), -1) + _turned_by_halves(vectors) * torch.cat(
        (sin, sin), -1
    )


def _halves_at_frequencies_of_neighbours(vectors: Tensor, angles: Tensor) -> Tensor:
    each_twice = angles.repeat_interleave(2, dim=-1)
    return vectors * torch.cos(each_twice) + _turned_by_halves(vectors) * torch.sin(each_twice)


def _halves_laid_in_pairs(vectors: Tensor, angles: Tensor) -> Tensor:
    return _in_pairs(_halves(vectors, angles))


def _pairs_laid_in_halves(vectors: Tensor, angles: Tensor) -> Tensor:
    rotated = rotate(vectors, angles)
    return torch.cat((rotated[..., 0::2], rotated[..., 1::2]), dim=-1)


def _in_pairs(halves: Tensor) -> Tensor:
    return torch.stack(halves.chunk(2, dim=-1), dim=-1).flatten(-2)


def _backwards(vectors: Tensor, angles: Tensor) -> Tensor:
    return rotate(vectors, -angles)


def _cos_and_sin_swapped(vectors: Tensor, angles: Tensor) -> Tensor:
    return rotate(vectors, math.pi / 2 - angles)


def _terms(*kept: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Returns a rotation that multiplies its four terms, in their order, by these factors."""

    def rotated(vectors: Tensor, angles: Tensor) -> Tensor:
        cos, sin = torch.cos(angles), torch.sin(angles)
        first, second = vectors[..., 0::2], vectors[..., 1::2]
        terms = (first * cos, -second * sin, first * sin, second * cos)
        a, b, c, d = (term * factor for term, factor in zip(terms, kept, strict=True))
        return torch.stack((a + b, c + d), dim=-1).flatten(-2)

    return rotated


def _unturned(vectors: Tensor, _angles: Tensor) -> Tensor:
    return vectors


def _with_an_axis(vectors: Tensor, angles: Tensor) -> Tensor:
    return rotate(vectors, angles[None])


def _with_two_axes(vectors: Tensor, angles: Tensor) -> Tensor:
    return rotate(vectors, angles[None, None])


def _with_an_axis_for_heads(vectors: Tensor, angles: Tensor) -> Tensor:
    return rotate(vectors, angles.unsqueeze(-3))


def _plus_one(positions: Tensor) -> Tensor:
    return positions + 1


def _in_order(positions: Tensor) -> Tensor:
    return torch.arange(positions.shape[-1], device=positions.device)


def _by_position(_mask: Tensor, positions: Tensor) -> Tensor:
    return positions.unsqueeze(-1) >= positions.unsqueeze(-2)


MISTAKES = (
    Mistake(
        "rope-half-split",
        "RoPE must rotate neighbouring features (0, 1), (2, 3), …; yours rotates features half a "
        "vector apart.",
        "With eight features, which one is turned together with the first?",
        (
            Way({"rotate": _halves}, ROTATED),
            Way({"rotate": _halves_at_frequencies_of_neighbours}, ROTATED),
            Way({"rotate": _halves_laid_in_pairs}, _ROPE),
        ),
    ),
    Mistake(
        "rope-output-halves",
        "Your pairs are rotated correctly, but come back as two halves instead of side by side.",
        "At which places of the result must the two features of the first pair stand?",
        (Way({"rotate": _pairs_laid_in_halves}, _ROPE),),
        alone=True,
    ),
    Mistake(
        "rope-reversed",
        "Your rotation turns clockwise instead of counter-clockwise.",
        "Turn the vector that points along the first feature by a small angle: which sign should "
        "its second feature get?",
        (Way({"rotate": _backwards}, ROTATED),),
    ),
    Mistake(
        "rope-cos-sin-swapped",
        "Cosine and sine are swapped in your rotation.",
        "At position 0 every angle is 0: what should your rotation do there, and what does it do?",
        (Way({"rotate": _cos_and_sin_swapped}, ROTATED),),
    ),
    Mistake(
        "rope-term-missing",
        "Your rotation leaves out a term: each rotated feature is a sum of two products, one with "
        "the cosine and one with the sine.",
        "Write down both rotated features of one pair: how many products does each have in your "
        "code?",
        (
            Way({"rotate": _terms(1, 0, 1, 1)}, ROTATED),
            Way({"rotate": _terms(1, 1, 0, 1)}, ROTATED),
            Way({"rotate": _terms(1, 0, 0, 1)}, ROTATED),
            Way({"rotate": _terms(0, 1, 1, 1)}, ROTATED),
            Way({"rotate": _terms(1, 1, 1, 0)}, ROTATED),
        ),
        alone=True,
    ),
    Mistake(
        "rope-frequency",
        "The frequencies of your rotation differ from the formula's: its exponent is wrong.",
        "Which exponent does your code have for the very first pair, and how much is added from "
        "each pair to the next?",
        (
            Way({"rope_frequencies": _exponents(lambda first: first + 2)}, ROTATED),
            Way({"rope_frequencies": _exponents(lambda first: first - 2)}, ROTATED),
            Way({"rope_frequencies": _exponents(lambda first: first - 1)}, ROTATED),
            Way({"rope_frequencies": _exponents(lambda first: first + 1)}, ROTATED),
            Way({"rope_frequencies": _exponents(lambda first: first / 2)}, ROTATED),
            Way({"rope_frequencies": _exponents(lambda first: first * 2)}, ROTATED),
            Way({"rope_frequencies": _exponents(lambda first: -first)}, ROTATED),
        ),
        own_dtype=True,
    ),
    Mistake(
        "rope-theta-ignored",
        "Your rotation always uses the usual base of 10000, whatever theta is passed.",
        "Where does theta enter your frequencies?",
        (Way({"rope_frequencies": _usual_theta}, ROTATED),),
    ),
    Mistake(
        "rope-degrees",
        "Your code converts angles between degrees and radians, but needs no conversion.",
        "In which unit does the formula give its angles, and in which unit do the functions take "
        "them?",
        (
            Way({"rope_angles": torch.deg2rad}, ROTATED),
            Way({"rope_angles": torch.rad2deg}, ROTATED),
        ),
        alone=True,
        own_dtype=True,
    ),
    Mistake(
        "rope-positions-from-one",
        "Your rotation counts positions from 1, so that it turns what stands at position 0.",
        "By which angle does your code turn a vector at position 0?",
        (Way({"positions_in_table": _plus_one}, _ROPE),),
    ),
    Mistake(
        "rope-positions-ignored",
        "Your rotation uses the order of the vectors instead of the positions that are passed.",
        "By which angle should the first vector turn if its position is 7?",
        (Way({"rope_positions": _in_order}, ROTATED),),
        echoes=_WITH_ATTENTION,
    ),
    Mistake(
        "rope-extra-axis",
        "Your angles get more axes than the vectors have, and pass them on to the result.",
        "Which shapes do your angles and your vectors have when there is no batch, and do they "
        "line up from the last axis?",
        (
            Way({"rotate": _with_an_axis}, ROTATED),
            Way({"rotate": _with_two_axes}, _ROPE),
            Way({"rotate": _with_an_axis_for_heads}, _ROPE),
        ),
        alone=True,
    ),
    Mistake(
        "rope-missing",
        "Your answers are those of vectors that are not rotated.",
        "Should the same token give the same scores at every position?",
        (Way({"rotate": _unturned}, _ROPE), Way({"rotated_roles": ()}, _WITH_ATTENTION)),
    ),
    Mistake(
        "rope-on-queries-only",
        "Your queries are rotated, but the keys that they meet are not.",
        "A score should depend on the distance of two tokens: which positions does it depend on in "
        "your code?",
        (Way({"rotated_roles": ("queries",)}, _WITH_ATTENTION),),
    ),
    Mistake(
        "rope-on-values",
        "Your values are rotated as well, although they take no part in the scores.",
        "Which of the three meet in a dot product, and what would a rotation do to the third?",
        (Way({"rotated_roles": ("queries", "keys", "values")}, _WITH_ATTENTION),),
    ),
    Mistake(
        "mha-positions-ignored",
        "Your attention rotates by the order of the tokens instead of the positions that are "
        "passed.",
        "Follow the positions from the caller to the rotation: do they arrive there?",
        (Way({"multihead_positions": _in_order}, _WITH_ATTENTION),),
    ),
    Mistake(
        "rope-needs-positions",
        "Without token_positions your attention rotates nothing, although the tokens then stand "
        "at 0, 1, 2, ...",
        "Which positions does None stand for, and what does your code do without token_positions?",
        # Position 0 has no rotation.
        (Way({"positions_by_default": torch.zeros_like}, _WITH_ATTENTION),),
        alone=True,
    ),
    Mistake(
        "causal-by-positions",
        "Your causal mask compares the positions that are passed, instead of the order of the "
        "tokens.",
        "If the positions are 7, 3 and 5, which tokens come before the second one?",
        (Way({"mask_at_positions": _by_position}, _WITH_ATTENTION),),
        alone=True,
    ),
)
