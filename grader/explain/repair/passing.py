"""Which failed tests pass once a line is changed: each is run with the edit, whatever it asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from grader.core.causes import STAYS_WRONG
from grader.core.wire.trials import Outcomes, TextChange, Trials
from grader.explain.repair.choice import RepairedExercise, in_place

# Of processor time, for making one edit.
_SECONDS = 2.0

Changes = Mapping[str, Sequence[TextChange]]


@dataclass(frozen=True, slots=True)
class Proved:
    """Where an exercise can be mended, and its failed tests: those that then pass, those that fail.

    Never without one that passes.
    """

    mended: RepairedExercise
    passing: frozenset[str]
    failing: frozenset[str]

    def in_words(self, test: str, named: bool = False, shown: bool = False) -> str:
        """What is said of a test: the line that mends it, or that it stays wrong.

        Nothing of a test that was not asked.
        """
        if test in self.passing:
            return self.mended.in_words(named, shown, is_all=not self.failing)
        if test not in self.failing:
            return ""
        return f"{STAYS_WRONG}{in_place(self.mended.places[0])}"


def proved(
    mended: RepairedExercise,
    failed: Collection[str],
    passing: Callable[[Changes], Collection[str]],
) -> Proved | None:
    """An exercise's mend, once its `failed` tests were run with it; nothing if none passes.

    `passing` tells the tests that pass when a program is changed. Of two lines that mend not the
    same tests, the one that mends more is left.
    """
    found = [
        frozenset(failed).intersection(passing(made.together_with(mended.besides)))
        for made in mended.makes
    ]
    if len(set(found)) > 1:
        most = max(range(len(found)), key=lambda place: len(found[place]))
        mended, found = mended.at(most), [found[most]]
    if not found[0]:
        return None
    return Proved(mended, found[0], frozenset(failed) - found[0])


def is_made(try_edits: Callable[[Trials], Outcomes], changes: Changes) -> bool:
    """Whether a program could be changed so; it stays as it is then, from its import on."""
    return bool(try_edits(Trials((), 0, (changes,), _SECONDS, stays=True)).tried)
