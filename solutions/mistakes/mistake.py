"""What a known mistake is: parts replaced, and what a student should hear of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..answers import Answer, answer
from ..parts import Parts

WEIGHTS = "run_attention_weights"
SCALED_DOT_PRODUCT = "run_scaled_dot_product_attention"
SELF_ATTENTION = "run_self_attention"
CAUSAL_SELF = "run_causal_self_attention"
STACKED = "run_multihead_attention_stacked"
MULTIHEAD_SELF = "run_multihead_self_attention"
MULTIHEAD = "run_multihead_attention"
MULTIHEAD_ROPE = "run_multihead_self_attention_with_rope"

MASKED = (WEIGHTS, SCALED_DOT_PRODUCT)
CAUSAL = (CAUSAL_SELF, STACKED, MULTIHEAD_SELF, MULTIHEAD, MULTIHEAD_ROPE)
ATTENTION = (SELF_ATTENTION, *MASKED, *CAUSAL)
PROJECTED = (MULTIHEAD_SELF, MULTIHEAD, MULTIHEAD_ROPE)
ROTATED = ("run_rope", MULTIHEAD_ROPE)


@dataclass(frozen=True, slots=True)
class Way:
    """One way of making a mistake: parts replaced, and the exercises that come out otherwise."""

    replaced: Mapping[str, Any]
    exercises: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake, with a sentence on what is wrong and one that leads on.

    `ways` are the forms that it takes in people's code, the plainest first. A mistake that is
    looked for `alone` is too rare to be expected in the company of another. Where rounding or
    overflow have a part in what comes out, the ways are to compute in the `own_dtype` of the
    inputs. `ignores` are arguments on which the result does not depend at all: by that a mistake
    is known of which the numbers are a matter of chance. In the exercises of `echoes` a mistake
    looks like another one, and is taken for it unless it was found elsewhere.
    """

    id: str
    explanation: str
    hint: str
    ways: tuple[Way, ...] = ()
    alone: bool = False
    own_dtype: bool = False
    ignores: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()

    @property
    def parts(self) -> frozenset[str]:
        """The names of the parts that some way of making the mistake replaces."""
        return frozenset(name for way in self.ways for name in way.replaced)

    @property
    def variants(self) -> dict[str, tuple[Answer, ...]]:
        """By exercise, functions with the adapter's parameters that make the mistake.

        A variant raises where code with the mistake would: swapped tensors whose sizes do not fit.
        """
        exercises = dict.fromkeys(name for way in self.ways for name in way.exercises)
        return {exercise: tuple(self._answers(exercise)) for exercise in exercises}

    def _answers(self, exercise: str) -> Iterator[Answer]:
        for way in self.ways:
            if exercise in way.exercises:
                yield answer(exercise, Parts(**way.replaced))


def combined(one: Mistake, other: Mistake) -> dict[str, tuple[Answer, ...]]:
    """By exercise, what comes of making two mistakes at once, each in its plainest way.

    Empty if they replace the same part, have no exercise in common, or are looked for alone.
    """
    both: dict[str, tuple[Answer, ...]] = {}
    if one.alone or other.alone:
        return both
    shared = one.variants.keys() & other.variants.keys()
    for exercise in shared - {*one.echoes, *other.echoes}:
        first, second = (_plainest(mistake, exercise) for mistake in (one, other))
        if not first.replaced.keys() & second.replaced.keys():
            both[exercise] = (answer(exercise, Parts(**first.replaced, **second.replaced)),)
    return both


def _plainest(mistake: Mistake, exercise: str) -> Way:
    return next(way for way in mistake.ways if exercise in way.exercises)
