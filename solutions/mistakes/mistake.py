"""The form of a known mistake: its replaced parts, and its explanation for students."""

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
    """A way of making a mistake: the replaced parts, and the exercises whose results change."""

    replaced: Mapping[str, Any]
    exercises: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake with its explanation and its hint.

    `ways` are the forms that it takes in people's code, the plainest first. A mistake that stands
    `alone` is too rare to occur together with another. If rounding or overflow affect the result,
    the ways must compute in the `own_dtype` of the inputs. `ignores` are arguments that do not
    affect the result at all: they identify a mistake whose numbers are random. In the exercises of
    `echoes`, the mistake looks like another one, and is named as that one unless it was found
    elsewhere.
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
        """Functions with the adapter's parameters that make the mistake, by exercise.

        A variant raises where code with the mistake does, for example if swapped tensors do not
        fit.
        """
        exercises = dict.fromkeys(name for way in self.ways for name in way.exercises)
        return {exercise: tuple(self._answers(exercise)) for exercise in exercises}

    def _answers(self, exercise: str) -> Iterator[Answer]:
        for way in self.ways:
            if exercise in way.exercises:
                yield answer(exercise, Parts(**way.replaced))


def combined(one: object, other: object) -> dict[str, tuple[Answer, ...]]:
    """Returns functions that make two mistakes at once, each in its plainest way, by exercise.

    The result is empty if they replace the same part, share no exercise, or one must stand alone.
    A mistake that has variants in place of ways stands alone.
    """
    both: dict[str, tuple[Answer, ...]] = {}
    if not (isinstance(one, Mistake) and isinstance(other, Mistake)) or one.alone or other.alone:
        return both
    shared = one.variants.keys() & other.variants.keys()
    for exercise in shared - {*one.echoes, *other.echoes}:
        first, second = (_plainest(mistake, exercise) for mistake in (one, other))
        if not first.replaced.keys() & second.replaced.keys():
            both[exercise] = (answer(exercise, Parts(**first.replaced, **second.replaced)),)
    return both


def _plainest(mistake: Mistake, exercise: str) -> Way:
    return next(way for way in mistake.ways if exercise in way.exercises)
