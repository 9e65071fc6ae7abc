"""Mends the wrong exercises of a submission one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.explaining.mending.choosing import Mended
from grader.explaining.mending.questions import Asked

Choose = Callable[[str], Mended | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of looking for what mends an exercise: a choice, and all that it mends anew."""

    exercise: str
    choice: Mended | None
    mended: frozenset[str]


def one_by_one(asked: Mapping[str, Sequence[Asked]], choose: Choose) -> Iterator[Attempt]:
    """Chooses for each wrong exercise, but for those that an earlier choice mends as well.

    `asked` are the calls whose right answer is known, by exercise, in the assignment's order: the
    first ones are what others build on.
    """
    done: set[str] = set()
    for exercise, own in asked.items():
        if exercise in done or all(one.right for one in own):
            continue
        choice = choose(exercise)
        mended = frozenset[str]()
        if choice is not None:
            mended = (choice.exercises | {exercise}) - done
            done |= mended
        yield Attempt(exercise, choice, mended)
