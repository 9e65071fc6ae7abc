"""Mends the wrong exercises of a submission one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.explaining.mending.choosing import Mended, chosen
from grader.explaining.mending.mending import Cost, FileEdit, Search
from grader.explaining.mending.questions import Asked
from grader.explaining.mending.sources import Sources

# Of an exercise, besides an edit that mends an earlier one; none if nothing more is to be tried.
NewSearch = Callable[[str, FileEdit | None], Search | None]
Choices = Mapping[str, Mended | None]

# Of mends of other exercises with which one is tried.
_MOST_BESIDES = 2


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of an exercise: a choice, all that it mends anew, and what it took.

    It `is_whole` if nothing was left out.
    """

    exercise: str
    choice: Mended | None
    mended: frozenset[str]
    cost: Cost
    is_whole: bool


class Mender:
    """Chooses what mends each exercise; for those that are `known`, that was chosen before."""

    def __init__(
        self, sources: Sources, adapters: str, search: NewSearch, known: Choices | None = None
    ) -> None:
        self._sources = sources
        self._adapters = adapters
        self._search = search
        self._known = known or {}

    def attempts(self, asked: Mapping[str, Sequence[Asked]]) -> Iterator[Attempt]:
        """One wrong exercise after another, but for those that an earlier choice mends as well.

        `asked` are the calls whose right answer is known, by exercise, in the assignment's order:
        the first ones are what others build on.
        """
        found: dict[str, Mended] = {}
        for exercise, own in asked.items():
            if exercise in found or all(one.right for one in own):
                continue
            attempt = self._attempt(exercise, found)
            if attempt.choice is not None:
                found |= dict.fromkeys(attempt.mended, attempt.choice)
            yield attempt

    def _attempt(self, exercise: str, found: Mapping[str, Mended]) -> Attempt:
        """What mends an exercise, alone or together with what mended an earlier one."""
        if exercise in self._known:
            choice = self._known[exercise]
            return Attempt(exercise, choice, _anew(exercise, choice, found), Cost(), is_whole=True)
        before = [one.made for one in dict.fromkeys(found.values())]
        cost, is_whole = Cost(), True
        for besides in (None, *before[:_MOST_BESIDES]):
            search = self._search(exercise, besides)
            if search is None:
                is_whole = False
                break
            choice = chosen(search.mends(self._sources), self._sources, self._adapters)
            cost, is_whole = cost.plus(search.cost), is_whole and not search.left_out
            if choice is not None:
                choice = replace(choice, besides=besides is not None)
                return Attempt(exercise, choice, _anew(exercise, choice, found), cost, is_whole)
        return Attempt(exercise, None, frozenset(), cost, is_whole)


def _anew(exercise: str, choice: Mended | None, found: Mapping[str, Mended]) -> frozenset[str]:
    return frozenset() if choice is None else (choice.exercises | {exercise}) - found.keys()
