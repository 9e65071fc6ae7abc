"""The form of a known mistake: its wrong functions, and its explanation for students."""

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
    """A known mistake: its explanation, its hint, and the functions that make it, by exercise.

    Several functions of one exercise are several ways of making the same mistake. If rounding or
    overflow affect the result, the functions must compute in the `own_dtype` of the inputs.
    `ignores` are arguments that do not affect the result at all: they identify a mistake whose
    numbers are random. In the exercises of `echoes`, the mistake looks like another one, and is
    named as that one unless it was found elsewhere. A `common` mistake is also tried together with
    each other one.
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
    """A right function with some of its parts replaced: `make` builds it from them."""

    make: Callable[..., Answer]
    replaced: Mapping[str, Any]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the function that `make` returns for the parts."""
        return self.make(**self.replaced)(*arguments, **named)


def combined(one: Mistake, other: Mistake) -> dict[str, tuple[Answer, ...]]:
    """Returns functions that make two mistakes at once, each in its first way, by exercise.

    The result is empty unless one of the mistakes is common, and where both replace the same part.
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
    """Returns the first way with parts replaced, for each right function."""
    ways = [way for way in mistake.variants[exercise] if isinstance(way, Replacing)]
    return list({way.make: way for way in reversed(ways)}.values())


@dataclass(frozen=True, slots=True)
class Way:
    """A way of making a mistake in the model: the exercises that it affects, and its parts."""

    exercises: tuple[str, ...]
    replaced: Mapping[str, Any]


def ways(*several: Way) -> dict[str, tuple[Answer, ...]]:
    """Returns the answers of each way, by exercise.

    An answer raises where code with the mistake does, for example if swapped tensors do not fit.
    """
    variants: dict[str, tuple[Answer, ...]] = {}
    for way in several:
        for exercise in way.exercises:
            made = answer(exercise, Parts(**way.replaced))
            variants[exercise] = (*variants.get(exercise, ()), made)
    return variants
