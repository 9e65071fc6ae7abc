"""The proof of a repair: the failed tests that pass with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.core.causes import STAYS_WRONG
from grader.core.wire.trials import Outcomes, TextChange, Trials
from grader.explain.repair.choice import Place, RepairedExercise, in_place

# Of processor time.
_SECONDS_PER_EDIT = 2.0

Changes = Mapping[str, Sequence[TextChange]]


@dataclass(frozen=True, slots=True)
class Proved:
    """A repair of an exercise, and the failed tests that pass with it or still fail.

    At least one test passes. The tests in `others` failed too, but did not run with the repair.
    """

    repaired: RepairedExercise
    passing: frozenset[str]
    failing: frozenset[str]
    others: frozenset[str] = frozenset()

    def in_words(self, test: str, named: bool = False, shown: bool = False) -> str:
        """Returns the words for a test: the line that fixes it, or that the test stays wrong.

        Returns "" for a test that did not run with the repair.
        """
        if test in self.passing:
            is_all = not self.failing and not self.others
            return self.repaired.in_words(named, shown, is_all)
        if test not in self.failing:
            return ""
        return f"{STAYS_WRONG}{in_place(self.repaired.places[0])} that fixes other tests."


def proved(
    repaired: RepairedExercise,
    failed: Collection[str],
    kept: Collection[str],
    passing: Callable[[Changes], Collection[str]],
) -> Proved | None:
    """Returns the proof of a repair from an exercise's `failed` tests, or None if none passes.

    `passing` returns the tests that pass with given changes, one after another in one state. A line
    that breaks a test that is to be `kept` proves nothing. The first of a line's edits that fixes a
    test proves the line. If lines fix different tests, only the line that fixes the most is kept.
    """
    places: list[Place] = []
    fixed: list[frozenset[str]] = []
    for place in repaired.places:
        own, tried = frozenset[str](), place
        for tried in (place, *place.others):
            right = passing(tried.made.changes)
            own = frozenset(failed).intersection(right if {*kept} <= {*right} else ())
            if own:
                break
        places.append(tried)
        fixed.append(own)
    repaired = replace(repaired, places=tuple(places))
    most = max(fixed, key=len)
    if len(set(fixed)) > 1:
        repaired = repaired.at(repaired.places[fixed.index(most)])
    return Proved(repaired, most, frozenset(failed) - most) if most else None


def is_made(try_edits: Callable[[Trials], Outcomes], changes: Changes) -> bool:
    """Changes the program in a worker for all later calls, and returns whether that worked.

    Later calls begin in the state right after the changed program's import.
    """
    return bool(try_edits(Trials((), 0, (changes,), _SECONDS_PER_EDIT, stays=True)).tried)
