"""The repair of the wrong exercises of a submission, one after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.explain.repair.choice import RepairedExercise, chosen
from grader.explain.repair.ignored import ignored
from grader.explain.repair.questions import CheckedCall, dtypes_of
from grader.explain.repair.search import FileEdit, Lines, RepairEdit, Search
from grader.explain.repair.sources import EditableSources

# Takes an exercise, and whether to ignore calls that raise. Returns None if nothing more may be
# tried.
NewSearch = Callable[[str, bool], Search | None]

# The most exercises that an edit may leave wrong, for each exercise that it makes right.
_MOST_LEFT = 1 / 3
# After so many failed searches on the same lines, other exercises there are not searched.
_MOST_IN_VAIN = 3


@dataclass(frozen=True, slots=True)
class RepairAttempt:
    """The result of repairing one exercise: the choice, and the exercises newly fixed.

    `tried` is the number of edits. `is_whole` is true if the search left nothing out.
    """

    exercise: str
    choice: RepairedExercise | None
    fixed: frozenset[str]
    tried: int
    is_whole: bool


class ExerciseRepair:
    """A repair of exercises, one after another.

    `chosen` holds the repair, or None, of each exercise that was tried or that another exercise's
    repair fixes. For an exercise without a repair, `ignored` says which parameter or result the
    code never uses, if there is exactly one.
    """

    def __init__(self, sources: EditableSources, adapters: str, search: NewSearch) -> None:
        self._sources = sources
        self._adapters = adapters
        self._search = search
        self.chosen: dict[str, RepairedExercise | None] = {}
        self.ignored: dict[str, str] = {}
        self._doubted: set[str] = set()
        # By exercise that was searched: the lines that wrong calls of each exercise run.
        self._passed: dict[str, Mapping[str, Lines]] = {}
        # By exercise: the exercises on the same lines whose search failed.
        self._in_vain: dict[str, set[str]] = defaultdict(set)
        self._wrong_by_dtype: set[str] = set()

    def attempts(self, asked: Mapping[str, Sequence[CheckedCall]]) -> Iterator[RepairAttempt]:
        """Yields one attempt per wrong exercise, except those that an earlier choice fixes too.

        `asked` holds, by exercise, the calls whose right answer is known. It is in the order of
        the assignment, where later exercises build on earlier ones. An exercise that shares lines
        with an unrepaired exercise seldom has a repair. The search tries only likely edits for it,
        and none if several exercises there remain unrepaired.
        """
        for exercise, own in asked.items():
            if exercise in self.chosen or all(one.right for one in own):
                continue
            if len(self._in_vain[exercise]) >= _MOST_IN_VAIN:
                continue
            self._wrong_by_dtype |= {exercise} if _fails_by_dtype(own) else set()
            attempt = RepairAttempt(exercise, None, frozenset(), 0, is_whole=True)
            if all(one.provable for one in own):
                attempt = self._attempt(exercise)
            only_some_raise = {one.answered for one in own if not one.right} == {False, True}
            if attempt.choice is None and attempt.is_whole and only_some_raise:
                attempt = self._repair_of_answers(attempt)
            if attempt.choice is None:
                for other in self._sharing(exercise):
                    self._in_vain[other].add(exercise)
                passed = self._passed.get(exercise, {}).get(exercise, frozenset())
                unused = ignored(self._sources, passed, self._adapters, own)
                self.ignored |= {} if unused is None else {exercise: unused.in_words()}
            self.chosen.setdefault(exercise, None)
            if attempt.choice is not None:
                self.chosen |= dict.fromkeys(attempt.fixed, attempt.choice)
            yield attempt

    def _attempt(self, exercise: str) -> RepairAttempt:
        """Returns the repair of an exercise.

        Rejects an edit that may work by chance: it is not a plain slip, and too many exercises on
        the same lines stay wrong. An exercise that a whole search cannot repair is doubted. Later
        choices that would fix a doubted exercise are rejected too.
        """
        search = self._search(exercise, False)
        if search is None:
            return RepairAttempt(exercise, None, frozenset(), 0, is_whole=False)
        choice = self._choice(exercise, search)
        self._passed[exercise] = search.passed
        tried, is_whole = search.tried, not search.left_out
        if choice is not None and not choice.exercises & self._doubted:
            fixed = self._newly_fixed(exercise, choice)
            left = self._sharing(exercise, self._adapters) - choice.exercises - self._fixed
            is_chance = len(left) > _MOST_LEFT * len(choice.exercises)
            if choice.is_plain or not is_chance:
                return RepairAttempt(exercise, choice, fixed, tried, is_whole)
        if is_whole:
            self._doubted.add(exercise)
        return RepairAttempt(exercise, None, frozenset(), tried, is_whole)

    def _repair_of_answers(self, before: RepairAttempt) -> RepairAttempt:
        """Returns the repair of an exercise's wrong answers, ignoring the calls that raise.

        Much code takes only the number of axes that its course used, and raises for others.
        """
        search = self._search(before.exercise, True)
        if search is None:
            return replace(before, is_whole=False)
        choice = self._choice(before.exercise, search)
        tried, is_whole = before.tried + search.tried, not search.left_out
        if choice is None or not choice.is_plain:
            return replace(before, tried=tried, is_whole=is_whole)
        fixed = self._newly_fixed(before.exercise, choice)
        return RepairAttempt(before.exercise, choice, fixed, tried, is_whole)

    @property
    def _fixed(self) -> set[str]:
        return {name for name, one in self.chosen.items() if one is not None}

    def _newly_fixed(self, exercise: str, choice: RepairedExercise) -> frozenset[str]:
        return (choice.exercises | {exercise}) - self._fixed

    def _choice(self, exercise: str, search: Search) -> RepairedExercise | None:
        """Returns the repair to tell; on lines of an unrepaired exercise, by a likely edit only.

        If wrong calls differ from right ones in their dtypes, edits of whole numbers are left out.
        Another size may avoid the mistake without being its repair.
        """

        def choose(repairs: Sequence[RepairEdit]) -> RepairedExercise | None:
            told = [one for one in repairs if not (by_dtype and self._is_of_size(one.made))]
            return chosen(told, self._sources)

        by_dtype = exercise in self._wrong_by_dtype
        return search.chosen(self._sources, choose, likely_only=bool(self._in_vain[exercise]))

    def _is_of_size(self, made: FileEdit) -> bool:
        """Returns whether an edit replaces only whole numbers."""
        text = self._sources.text(made.file)
        pieces = (text[one.start : one.end] for one in made.edit.replacements)
        return made.edit.kind == "constant" and all(map(str.isdigit, pieces))

    def _sharing(self, exercise: str, left_out: str | None = None) -> set[str]:
        """Returns the wrong exercises that share lines with an exercise.

        Lines of the file `left_out` do not count. Only exercises that the search for the exercise
        has seen are returned.
        """
        passed = self._passed.get(exercise, {})
        own = {line for line in passed.get(exercise, ()) if line[0] != left_out}
        return {name for name, lines in passed.items() if lines & own}


def _fails_by_dtype(asked: Sequence[CheckedCall]) -> bool:
    """Returns whether all wrong calls have floats of dtypes that no right call has."""
    right = {dtype for one in asked if one.right for dtype in dtypes_of(one.question)}
    wrong = [{*dtypes_of(one.question)} for one in asked if not one.right]
    return bool(right) and all(own and own.isdisjoint(right) for own in wrong)
