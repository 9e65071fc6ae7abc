"""What a known mistake is, and what a student should hear of it."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..answers import Answer, answer
from ..parts import Parts

SCALED_DOT_PRODUCT = "run_scaled_dot_product_attention"
MULTIHEAD = "run_multihead_self_attention"
MULTIHEAD_ROPE = "run_multihead_self_attention_with_rope"
BLOCK = "run_transformer_block"
MODEL = "run_transformer_lm"

WHOLE = (BLOCK, MODEL)
WITH_ROPE = (MULTIHEAD_ROPE, *WHOLE)
CAUSAL = (MULTIHEAD, *WITH_ROPE)
ATTENTION = (SCALED_DOT_PRODUCT, *CAUSAL)
ROTATED = ("run_rope", *WITH_ROPE)
FED = ("run_swiglu", *WHOLE)
NORMED = ("run_rmsnorm", *WHOLE)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake: what is wrong, what leads on, and the functions that make it, by exercise.

    Several functions of one exercise are several ways of making the same mistake. Where rounding or
    overflow have a part in what comes out, they are to compute in the `own_dtype` of the inputs.
    `ignores` are arguments on which the result does not depend at all: by that a mistake is known
    of which the numbers are a matter of chance. In the exercises of `echoes` a mistake looks like
    another one, and is taken for it unless it was found elsewhere. A `common` mistake is looked for
    in the company of each other one as well.
    """

    id: str
    explanation: str
    hint: str
    variants: Mapping[str, tuple[Answer, ...]]
    own_dtype: bool = False
    ignores: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()
    common: bool = False


@dataclass(frozen=True, slots=True)
class Replacing:
    """A right function with some of its parts replaced: what `make` returns for them."""

    make: Callable[..., Answer]
    replaced: Mapping[str, Any]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls what is made of the parts."""
        return self.make(**self.replaced)(*arguments, **named)


def combined(one: Mistake, other: Mistake) -> dict[str, tuple[Answer, ...]]:
    """Returns by exercise what comes of two mistakes at once, each in its first way.

    Empty unless one of them is common, and where they replace the same part.
    """
    both: dict[str, tuple[Answer, ...]] = {}
    if not (one.common or other.common):
        return both
    for exercise in one.variants.keys() & other.variants.keys():
        several = (_first_ways(mistake, exercise) for mistake in (one, other))
        together = tuple(
            replace(first, replaced={**first.replaced, **second.replaced})
            for first, second in itertools.product(*several)
            if first.make is second.make and not first.replaced.keys() & second.replaced.keys()
        )
        if together:
            both[exercise] = together
    return both


def _first_ways(mistake: Mistake, exercise: str) -> list[Replacing]:
    """The first of the ways with parts replaced, for each right function."""
    ways = [way for way in mistake.variants[exercise] if isinstance(way, Replacing)]
    return list({way.make: way for way in reversed(ways)}.values())


@dataclass(frozen=True, slots=True)
class Way:
    """One way of making a mistake in the model: the exercises that it shows in, parts replaced."""

    exercises: tuple[str, ...]
    replaced: Mapping[str, Any]


def ways(*several: Way) -> dict[str, tuple[Answer, ...]]:
    """The answers that come of each way, by exercise.

    An answer raises where code with the mistake would: swapped tensors whose sizes do not fit.
    """
    variants: dict[str, tuple[Answer, ...]] = {}
    for way in several:
        for exercise in way.exercises:
            made = answer(exercise, Parts(**way.replaced))
            variants[exercise] = (*variants.get(exercise, ()), made)
    return variants
