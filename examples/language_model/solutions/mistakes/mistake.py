"""What a known mistake is, and what a student should hear of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..answers import Answer, answer
from ..parts import Parts


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake: what is wrong, what leads on, and the functions that make it, by exercise.

    Several functions of one exercise are several ways of making the same mistake. Where rounding or
    overflow have a part in what comes out, they are to compute in the `own_dtype` of the inputs.
    In the exercises of `echoes` a mistake looks like another one, and is taken for it unless it was
    found elsewhere.
    """

    id: str
    explanation: str
    hint: str
    variants: Mapping[str, tuple[Answer, ...]]
    own_dtype: bool = False
    echoes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """One way of making a mistake in the model: the exercises that it shows in, parts replaced."""

    exercises: tuple[str, ...]
    replaced: Mapping[str, Any]


def ways(*several: Way) -> dict[str, tuple[Answer, ...]]:
    """The answers that come of each way, by exercise."""
    variants: dict[str, tuple[Answer, ...]] = {}
    for way in several:
        for exercise in way.exercises:
            made = answer(exercise, Parts(**way.replaced))
            variants[exercise] = (*variants.get(exercise, ()), made)
    return variants
