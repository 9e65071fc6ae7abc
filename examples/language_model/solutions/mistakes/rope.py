"""Mistakes in RoPE, and in attention with it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..steps import rope_frequencies, rotate
from .mistake import MULTIHEAD_ROPE, ROTATED, WHOLE, WITH_ROPE, Mistake, Way, ways

_ROPE = ("run_rope",)


def _exponents(of: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int, float], Tensor]:
    """Returns frequencies that use `of` of each pair's first feature in place of that feature."""
    return lambda first_of_pair, d_k, theta: rope_frequencies(of(first_of_pair), d_k, theta)


def _usual_theta(first_of_pair: Tensor, d_k: int, _theta: float) -> Tensor:
    return rope_frequencies(first_of_pair, d_k, 10_000.0)


def _turned_by_halves(vectors: Tensor) -> Tensor:
    first, second = vectors.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def _halves(vectors: Tensor, angles: Tensor) -> Tensor:
    twice = torch.cat((angles, angles), dim=-1)
    return vectors * torch.cos(twice) + _turned_by_halves(vectors) * torch.sin(twice)


def _halves_at_frequencies_of_neighbours(vectors: Tensor, angles: Tensor) -> Tensor:
    twice = angles.repeat_interleave(2, dim=-1)
    return vectors * torch.cos(twice) + _turned_by_halves(vectors) * torch.sin(twice)


def _pairs_laid_in_halves(vectors: Tensor, angles: Tensor) -> Tensor:
    rotated = rotate(vectors, angles)
    return torch.cat((rotated[..., 0::2], rotated[..., 1::2]), dim=-1)


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
        ways(
            Way(ROTATED, {"rotate": _halves}),
            Way(ROTATED, {"rotate": _halves_at_frequencies_of_neighbours}),
        ),
    ),
    Mistake(
        "rope-output-halves",
        "Your pairs are rotated correctly, but come back as two halves instead of side by side.",
        "At which places of the result must the two features of the first pair stand?",
        ways(Way(_ROPE, {"rotate": _pairs_laid_in_halves})),
    ),
    Mistake(
        "rope-reversed",
        "Your rotation turns clockwise instead of counter-clockwise.",
        "Turn the vector that points along the first feature by a small angle: which sign should "
        "its second feature get?",
        ways(Way(_ROPE, {"rotate": _backwards})),
    ),
    Mistake(
        "rope-cos-sin-swapped",
        "Cosine and sine are swapped in your rotation.",
        "At position 0 every angle is 0: what should your rotation do there, and what does it do?",
        ways(Way(_ROPE, {"rotate": _cos_and_sin_swapped})),
    ),
    Mistake(
        "rope-term-missing",
        "Your rotation leaves out a term: each rotated feature is a sum of two products, one with "
        "the cosine and one with the sine.",
        "Write down both rotated features of one pair: how many products does each have in your "
        "code?",
        ways(
            Way(ROTATED, {"rotate": _terms(1, 0, 1, 1)}),
            Way(ROTATED, {"rotate": _terms(1, 1, 0, 1)}),
            Way(ROTATED, {"rotate": _terms(1, 0, 0, 1)}),
            Way(_ROPE, {"rotate": _terms(0, 1, 1, 1)}),
            Way(_ROPE, {"rotate": _terms(1, 1, 1, 0)}),
        ),
    ),
    Mistake(
        "rope-frequency",
        "The frequencies of your rotation differ from the formula's: its exponent is wrong.",
        "Which exponent does your code have for the very first pair, and how much is added from "
        "each pair to the next?",
        ways(
            Way(ROTATED, {"rope_frequencies": _exponents(lambda first: first / 2)}),
            Way(ROTATED, {"rope_frequencies": _exponents(lambda first: first * 2)}),
            Way(ROTATED, {"rope_frequencies": _exponents(lambda first: first + 2)}),
            Way(ROTATED, {"rope_frequencies": _exponents(lambda first: first - 2)}),
            Way(ROTATED, {"rope_frequencies": _exponents(lambda first: -first)}),
        ),
        own_dtype=True,
    ),
    Mistake(
        "rope-theta-ignored",
        "Your rotation always uses the usual base of 10000, whatever theta is passed.",
        "Where does theta enter your frequencies?",
        ways(Way(_ROPE, {"rope_frequencies": _usual_theta})),
    ),
    Mistake(
        "rope-positions-from-one",
        "Your rotation counts positions from 1, so that it turns what stands at position 0.",
        "By which angle does your code turn a vector at position 0?",
        ways(Way(_ROPE, {"positions_in_table": _plus_one})),
    ),
    Mistake(
        "rope-positions-ignored",
        "Your rotation uses the order of the vectors instead of the positions that are passed.",
        "By which angle should the first vector turn if its position is 7?",
        ways(Way(("run_rope", MULTIHEAD_ROPE), {"rope_positions": _in_order})),
        echoes=(MULTIHEAD_ROPE,),
    ),
    Mistake(
        "rope-missing",
        "Your answers are those of vectors that are not rotated.",
        "Should the same token give the same scores at every position?",
        ways(Way(_ROPE, {"rotate": _unturned}), Way(WITH_ROPE, {"rotated_roles": ()})),
    ),
    Mistake(
        "rope-on-queries-only",
        "Your queries are rotated, but the keys that they meet are not.",
        "A score should depend on the distance of two tokens: which positions does it depend on in "
        "your code?",
        ways(Way(WITH_ROPE, {"rotated_roles": ("queries",)})),
    ),
    Mistake(
        "rope-on-values",
        "Your values are rotated as well, although they take no part in the scores.",
        "Which of the three meet in a dot product, and what would a rotation do to the third?",
        ways(Way(WITH_ROPE, {"rotated_roles": ("queries", "keys", "values")})),
    ),
    Mistake(
        "mha-positions-ignored",
        "Your attention rotates by the order of the tokens instead of the positions that are "
        "passed.",
        "Follow the positions from the caller to the rotation: do they arrive there?",
        ways(Way((MULTIHEAD_ROPE,), {"multihead_positions": _in_order})),
    ),
    Mistake(
        "rope-needs-positions",
        "Without token_positions your attention rotates nothing, although the tokens then stand "
        "at 0, 1, 2, ...",
        "Which positions does None stand for, and what does your code do without token_positions?",
        # Position 0 has no rotation.
        ways(Way(WITH_ROPE, {"positions_by_default": torch.zeros_like})),
        echoes=WHOLE,
    ),
    Mistake(
        "causal-by-positions",
        "Your causal mask compares the positions that are passed, instead of the order of the "
        "tokens.",
        "If the positions are 7, 3 and 5, which tokens come before the second one?",
        ways(Way((MULTIHEAD_ROPE,), {"mask_at_positions": _by_position})),
    ),
)
