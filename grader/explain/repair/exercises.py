"""Repairs the wrong exercises of a submission, and tells which failed tests then pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.core.causes import STAYS_WRONG
from grader.core.wire.trials import Outcomes, TextChange, Trials
from grader.explain.repair.choice import RepairedExercise, chosen, in_place
from grader.explain.repair.ignored import Ignored, ignored
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.search import Cost, FileEdit, Lines, RepairEdit, Search
from grader.explain.repair.sources import EditableSources

# Of an exercise, besides an edit that mends an earlier one, perhaps of its answers only; none if
# nothing more is to be tried.
NewSearch = Callable[[str, FileEdit | None, bool], Search | None]
Choices = Mapping[str, RepairedExercise | None]

# Mends of other exercises with which one is tried.
_MOST_BESIDES = 2
# The exercises that an edit may leave wrong, for each exercise that it makes right.
_MOST_LEFT = 1 / 3
# Where so many exercises that run the same lines were searched in vain, no other is.
_MOST_IN_VAIN = 3


@dataclass(frozen=True, slots=True)
class RepairAttempt:
    """The result of repairing one exercise: a choice, all exercises newly mended, and the cost.

    `is_whole` is true if the search left nothing out. Without a choice, `ignored` is what the code
    takes and never uses.
    """

    exercise: str
    choice: RepairedExercise | None
    mended: frozenset[str]
    cost: Cost
    is_whole: bool
    ignored: Ignored | None = None


class ExerciseRepair:
    """Chooses what mends each exercise; for those that are `known`, that was chosen before."""

    def __init__(
        self,
        sources: EditableSources,
        adapters: str,
        search: NewSearch,
        known: Choices | None = None,
    ) -> None:
        self._sources = sources
        self._adapters = adapters
        self._search = search
        self._known = {} if known is None else known
        self._held: dict[str, RepairedExercise] = {}
        self._doubted: set[str] = set()
        self._last: tuple[Sequence[RepairEdit], RepairedExercise | None] | None = None
        self._passed: dict[str, Mapping[str, Lines]] = {}
        self._in_vain: dict[str, set[str]] = defaultdict(set)

    def attempts(self, asked: Mapping[str, Sequence[CheckedCall]]) -> Iterator[RepairAttempt]:
        """Yields one attempt per wrong exercise, except those that an earlier choice mends too.

        `asked` holds the calls whose right answer is known, by exercise, in the assignment's
        order. Later exercises build on the first ones. An exercise that shares lines with an
        unmended exercise is seldom mended either. The search tries only likely edits for it, and
        none after a few of those.
        """
        found: dict[str, RepairedExercise] = {}
        for exercise, own in asked.items():
            if exercise in found or all(one.right for one in own):
                continue
            if any(exercise in one.exercises for one in self._held.values()):
                continue
            if len(self._in_vain[exercise]) >= _MOST_IN_VAIN:
                continue
            attempt = RepairAttempt(exercise, None, frozenset(), Cost(), is_whole=True)
            if all(one.provable for one in own):
                attempt = self._attempt(exercise, found)
            if attempt.choice is None and attempt.is_whole and _some_raise(own):
                attempt = self._of_answers(attempt, found)
            if attempt.choice is None and exercise not in self._held:
                for other in self._sharing(exercise):
                    self._in_vain[other].add(exercise)
                passed = self._passed.get(exercise, {}).get(exercise, frozenset())
                unused = ignored(self._sources, passed, self._adapters, own)
                attempt = replace(attempt, ignored=unused)
            for one in (*_proved(attempt, self._held, found), attempt):
                anew = replace(one, mended=one.mended - found.keys())
                if anew.choice is not None:
                    found |= dict.fromkeys(anew.mended, anew.choice)
                yield anew

    def _attempt(self, exercise: str, found: Mapping[str, RepairedExercise]) -> RepairAttempt:
        """Returns the repair of an exercise, alone or together with the edit of an earlier one.

        A repair is `held` back if it is no plain slip and exercises that run the same lines stay
        wrong. Such a repair may mend by chance. A plain slip beside it that mends other exercises
        proves the held repair. An exercise in doubt puts in doubt all exercises that the same
        edits make right.
        """
        if exercise in self._known:
            choice = self._known[exercise]
            return RepairAttempt(
                exercise, choice, _anew(exercise, choice, found), Cost(), is_whole=True
            )
        before = list(dict.fromkeys(one.made for one in (*found.values(), *self._held.values())))
        cost, is_whole = Cost(), True
        for besides in (None, *before[:_MOST_BESIDES]):
            search = self._search(exercise, besides, False)
            if search is None:
                is_whole = False
                break
            choice = self._chosen(search.mends(self._sources, self._suffice(exercise)))
            self._passed[exercise] = search.passed
            cost, is_whole = cost.plus(search.cost), is_whole and not search.left_out
            if choice is None or (besides is None and choice.exercises & self._doubted):
                continue
            choice = replace(choice, besides=besides)
            left = self._alike(exercise, search) - choice.exercises - found.keys()
            is_chance = len(left) > _MOST_LEFT * len(choice.exercises)
            second = any(one.made == besides for one in self._held.values())
            if choice.is_plain or not (is_chance or second):
                return RepairAttempt(
                    exercise, choice, _anew(exercise, choice, found), cost, is_whole
                )
            if besides is None:
                self._held[exercise] = choice
        if is_whole:
            self._doubted.add(exercise)
        return RepairAttempt(exercise, None, frozenset(), cost, is_whole)

    def _of_answers(
        self, before: RepairAttempt, found: Mapping[str, RepairedExercise]
    ) -> RepairAttempt:
        """Returns the repair of an exercise's wrong answers, where other calls raise.

        Much code takes inputs of as many axes as its course used, and raises for others.
        """
        search = self._search(before.exercise, None, True)
        if search is None:
            return replace(before, is_whole=False)
        choice = self._chosen(search.mends(self._sources, self._suffice(before.exercise)))
        cost, is_whole = before.cost.plus(search.cost), not search.left_out
        if choice is None or not choice.is_plain:
            return replace(before, cost=cost, is_whole=is_whole)
        choice = replace(choice, answers_only=True)
        anew = _anew(before.exercise, choice, found)
        return RepairAttempt(before.exercise, choice, anew, cost, is_whole)

    def _chosen(self, mends: Sequence[RepairEdit]) -> RepairedExercise | None:
        """Returns the repair to tell, and keeps it for a second request in a row."""
        if self._last is None or self._last[0] is not mends:
            self._last = mends, chosen(mends, self._sources, self._adapters)
        return self._last[1]

    def _suffice(self, exercise: str) -> Callable[[Sequence[RepairEdit]], bool]:
        """Returns whether mends tell a line: if all are unlikely, another edit may be likelier."""
        likely_only = bool(self._in_vain[exercise])
        return lambda mends: likely_only or self._chosen(mends) is not None

    def _sharing(self, exercise: str) -> list[str]:
        """Returns the wrong exercises that run lines that one runs which was searched."""
        passed = self._passed.get(exercise, {})
        own = passed.get(exercise, frozenset())
        return [name for name, lines in passed.items() if lines & own]

    def _alike(self, exercise: str, search: Search) -> set[str]:
        """Returns the wrong exercises that run the lines of this one, except lines of adapters."""
        own = {one for one in search.passed[exercise] if one[0] != self._adapters}
        return {name for name, lines in search.passed.items() if lines & own}


def _some_raise(asked: Sequence[CheckedCall]) -> bool:
    """Returns whether of an exercise's wrong calls some raise and others have an answer."""
    return {one.answered for one in asked if not one.right} == {False, True}


def _anew(
    exercise: str, choice: RepairedExercise | None, found: Mapping[str, RepairedExercise]
) -> frozenset[str]:
    return frozenset() if choice is None else (choice.exercises | {exercise}) - found.keys()


def _proved(
    attempt: RepairAttempt, held: dict[str, RepairedExercise], found: Mapping[str, RepairedExercise]
) -> Iterator[RepairAttempt]:
    """Yields each held repair that mends a later exercise together with a second edit."""
    second = None if attempt.choice is None else attempt.choice.besides
    for name in [name for name, one in held.items() if one.made == second]:
        choice = held.pop(name)
        yield RepairAttempt(name, choice, _anew(name, choice, found), Cost(), is_whole=True)


# Processor time for making one edit.
_SECONDS = 2.0

Changes = Mapping[str, Sequence[TextChange]]


@dataclass(frozen=True, slots=True)
class Proved:
    """Where an exercise can be mended, and its failed tests: those that then pass, those that fail.

    Never without one that passes. The `others` failed as well, and did not run with the edit.
    """

    mended: RepairedExercise
    passing: frozenset[str]
    failing: frozenset[str]
    others: frozenset[str] = frozenset()

    def in_words(self, test: str, named: bool = False, shown: bool = False) -> str:
        """Returns the words for a test: the line that mends it, or that the test stays wrong.

        Returns nothing for a test that the repair did not run.
        """
        if test in self.passing:
            is_all = not self.failing and not self.others
            return self.mended.in_words(named, shown, is_all)
        if test not in self.failing:
            return ""
        return f"{STAYS_WRONG}{in_place(self.mended.places[0])}, which fixes other tests."


def proved(
    exercise: str,
    mended: RepairedExercise,
    failed: Collection[str],
    passing: Callable[[Changes], Collection[str]],
) -> Proved | None:
    """Returns an exercise's mend after its `failed` tests ran with it, or None if none passes.

    `passing` tells the tests that pass when a program is changed. If two lines mend different
    tests, the line that mends more tests is left. A second edit is left out if the exercise does
    not need it.
    """
    found = _mended(mended, failed, passing)
    if len(set(found)) > 1:
        most = max(range(len(found)), key=lambda place: len(found[place]))
        mended, found = mended.at(most), [found[most]]
    if not found[0]:
        return None
    if mended.besides is not None:
        alone = replace(mended, besides=None, exercises=frozenset({exercise}))
        if all(found[0] <= own for own in _mended(alone, found[0], passing)):
            mended = alone
    return Proved(mended, found[0], frozenset(failed) - found[0])


def _mended(
    mended: RepairedExercise,
    failed: Collection[str],
    passing: Callable[[Changes], Collection[str]],
) -> list[frozenset[str]]:
    """Returns the `failed` tests that pass with a repair, for each of its lines."""
    changes = (made.together_with(mended.besides) for made in mended.makes)
    return [frozenset(failed).intersection(passing(one)) for one in changes]


def is_made(try_edits: Callable[[Trials], Outcomes], changes: Changes) -> bool:
    """Returns whether a program could be changed so; it stays as it is then, from its import on."""
    return bool(try_edits(Trials((), 0, (changes,), _SECONDS, stays=True)).tried)
