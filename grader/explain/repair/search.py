"""The search for edits that make an exercise's wrong answers right and break no right ones."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from grader.core.wire.trials import KINDS, MAX_EDITS, Outcomes, Passed, TextChange, Trials
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.repair.questions import CheckedCall, in_turn, is_answer, telling
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.combined import combined
from grader.explain.rewriting.edit import Edit
from grader.explain.rewriting.generation import edits_of
from grader.explain.rewriting.program.scopes import Observed
from grader.explain.rewriting.program.vocabulary import Nature

# The wrong calls whose lines are recorded, and the calls of the first trial of each edit.
_FOLLOWED = 3
_WRONG_TRIED = 2
_RIGHT_TRIED = 1
# The largest calls of the first trial, if there are enough: large models are slow to build.
_SMALL = 1000
# The calls in the proof: of the exercise, of each other one, and of all others together.
_WRONG_PROVEN = 8
_PRECISION_PROVEN = 2
_RIGHT_PROVEN = 3
_WRONG_OF_OTHERS, _MOST_WRONG_OF_OTHERS = 2, 16
_RIGHT_OF_OTHERS, _MOST_RIGHT_OF_OTHERS = 4, 56
# Padded to this number, so that the worker cannot infer which edits were right.
_PROVEN_TOGETHER = 12
# Lines take turns, so that the edits of one line do not fill the proof.
_MOST_PROVEN = 24
_MOST_FOUND = 12_000
# In characters: the header of one frame holds hundreds of edits.
_LONGEST = 600
# Edits that cost more are tried only if no cheaper edit fixes the exercise.
_LIKELY = 1.5
# If more edits pass than this, they pass by luck: usually, only a few in a hundred pass.
_FEW = 20
_MOST_SHARE = 0.15
# By the kinds of values that a worker reports.
_NATURES = {
    "tensor": Nature.TENSOR,
    "mask": Nature.MASK,
    "int": Nature.SIZE,
    "float": Nature.NUMBER,
    "bool": Nature.FLAG,
    "function": Nature.FUNCTION,
    "shape": Nature.SHAPE,
    "other": Nature.OTHER,
}
# A line that a right exercise runs is seldom the guilty one: its edits cost more.
_CLEARED = 1.0


class Workbench(Protocol):
    """A fresh copy of a submission, in which edits can be tried."""

    @property
    def seconds(self) -> float:
        """Returns the seconds that all trials have taken so far."""

    def try_edits(self, trials: Trials) -> Outcomes:
        """Returns the outcomes of trials."""


Choice = TypeVar("Choice")
NewBench = Callable[[], AbstractContextManager[Workbench]]
Lines = frozenset[tuple[str, int]]
# A call, and the unedited program's answer to it.
_Checked = tuple[CheckedCall, torch.Tensor | None]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """An edit, and the file that it changes."""

    file: str
    edit: Edit

    @property
    def changes(self) -> Mapping[str, Sequence[TextChange]]:
        """Returns the text changes by file, as workers take them."""
        pieces = sorted(self.edit.replacements)
        return {self.file: [TextChange(one.start, one.end, one.text) for one in pieces]}


@dataclass(frozen=True, slots=True)
class RepairEdit:
    """An edit that makes wrong answers right.

    `share` is the part of the exercise's wrong answers that the edit makes right, and
    `share_with_precision` counts those to tests of precision as well. `exercises` holds the
    exercises that the edit makes right, and `breaks` those that it makes wrong.
    """

    made: FileEdit
    share: float
    exercises: frozenset[str]
    breaks: frozenset[str]
    share_with_precision: float = 1.0

    @property
    def is_whole(self) -> bool:
        """Returns whether the edit makes the whole exercise right and breaks nothing."""
        return self.share == 1 and not self.breaks


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """The most that a search tries for one exercise, or that several searches try together.

    `seconds` bounds the processor time in which trials may start. That bound is a safety net for
    unusually slow calls.
    """

    edits: int = 4000
    seconds: float = 6.0
    seconds_of_proof: float = 3.0


IN_CLASS = SearchBounds()


def schedule(
    sources: EditableSources, passed: Sequence[Passed], cleared: Lines = frozenset()
) -> tuple[list[FileEdit], int]:
    """Returns the edits to try, cheapest first, and how many of them are likely.

    Edits of several lines are left out, except those that change like places. The order depends on
    nothing but the sources, the lines, and the kinds of values that variables held. `cleared` are
    the lines that right exercises run.
    """
    found: list[tuple[float, FileEdit]] = []
    observed = _observed(passed)
    for file, lines in sources.concerned(passed).items():
        if len(found) > _MOST_FOUND:
            break
        text, held = sources.text(file), observed.get(file, {})
        edits = edits_of(text, lines, sources.elsewhere(file), sources.slips, held)
        single = [edit for edit in edits if len(edit.lines) == 1]
        for edit in (*single, *combined(text, single)):
            if sum(len(one.text) for one in edit.replacements) <= _LONGEST:
                is_cleared = all((file, line) in cleared for line in edit.lines)
                cost = edit.cost + (_CLEARED if is_cleared else 0.0)
                found.append((cost, FileEdit(file, edit)))
    found.sort(key=lambda pair: (pair[0], pair[1].file, pair[1].edit.line))
    return [made for _, made in found], sum(cost <= _LIKELY for cost, _ in found)


class Search:
    """The search for edits that fix one exercise of a submission.

    `asked` holds the calls of all exercises whose right answer is known. With `answers_only`, the
    search ignores calls that raise. `tried` counts the edits so far, and `left_out` those beyond
    the bounds. `passed` holds, by exercise, the lines that wrong calls run, also for other
    exercises.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        bench: NewBench,
        exercise: str,
        asked: Sequence[CheckedCall],
        answers_only: bool = False,
        bounds: SearchBounds = IN_CLASS,
    ) -> None:
        self._catalogue = catalogue
        self._bench = bench
        self._exercise = exercise
        self._bounds = bounds
        asked = [one for one in asked if one.answered or not answers_only]
        own = [one for one in asked if one.exercise == exercise]
        self._wrong = [one for one in own if not one.right]
        self._right = [one for one in own if one.right]
        self._others = [one for one in asked if one.exercise != exercise]
        self.tried = 0
        self.left_out = 0
        self.passed: dict[str, Lines] = {}

    def chosen(
        self,
        sources: EditableSources,
        choose: Callable[[Sequence[RepairEdit]], Choice | None],
        likely_only: bool,
    ) -> Choice | None:
        """Returns what `choose` makes of the edits that make the exercise's wrong answers right.

        All likely edits are tried on a few calls first. Edits that pass are proven on more calls,
        in another worker. If that leaves no choice, or no edit that fixes tests of precision too,
        unlikely edits are tried in a third worker. With `likely_only`, they are not.
        """
        with self._bench() as bench:
            passed = self._passed(bench, telling(self._wrong, _FOLLOWED))
            self.passed = {self._exercise: _lines(passed), **self._passed_by_others(bench)}
            edits, likely = schedule(sources, passed, self._cleared(bench))
            self.left_out = max(0, len(edits) - self._bounds.edits)
            del edits[self._bounds.edits :]
            likely = min(likely, len(edits))
            over = bench.seconds + self._bounds.seconds
            left = self._candidates(bench, edits, 0, likely, self._bounds.seconds)
            rest = over - bench.seconds
        proven = self._proven(edits, left)
        choice = choose(proven)
        fixes_all = any(one.is_whole and one.share_with_precision == 1 for one in proven)
        if likely_only or (choice is not None and fixes_all):
            return choice
        with self._bench() as bench:
            rarer = self._candidates(bench, edits, likely, len(edits), rest)
        return choose([*proven, *self._proven(edits, rarer, len(left))]) or choice

    def _candidates(
        self, bench: Workbench, edits: Sequence[FileEdit], first: int, end: int, seconds: float
    ) -> list[int]:
        """Returns the numbers of the edits from `first` up to `end` that make a few calls right.

        Edits that do not start within `seconds` are left out.
        """
        small = [one for one in self._wrong if one.size <= _SMALL and one.is_plain]
        wrong = small if len(small) >= _WRONG_TRIED else self._wrong
        few = sorted(telling(wrong, _WRONG_TRIED), key=lambda one: one.size)
        right = self._with_control(bench, telling(self._right, _RIGHT_TRIED))
        calls = [*few, *(one for one, _ in right)]
        left: list[int] = []
        over = bench.seconds + seconds
        for start in range(first, end, MAX_EDITS):
            chunk = edits[start : min(start + MAX_EDITS, end)]
            if bench.seconds >= over:
                self.left_out += len(chunk)
                continue
            outcomes = self._tried(bench, calls, len(few), chunk, over - bench.seconds)
            self.left_out += len(chunk) - outcomes.tried
            left += [start + number for number in self._left(calls, len(chunk), outcomes)]
        return left

    def _passed(self, bench: Workbench, asked: Iterable[CheckedCall]) -> Sequence[Passed]:
        """Returns the lines that a few wrong calls run, each in the state after the import."""
        calls = [one.question.call for one in asked]
        return bench.try_edits(Trials(calls, 0, (), self._bounds.seconds, len(calls))).passed

    def _passed_by_others(self, bench: Workbench) -> dict[str, Lines]:
        """Returns, by exercise, the lines that one wrong call of each other exercise runs."""
        wrong = in_turn([one for one in self._others if not one.right], 1)
        return {one.exercise: _lines(self._passed(bench, [one])) for one in wrong}

    def _cleared(self, bench: Workbench) -> Lines:
        """Returns the lines that one call of each exercise without a wrong answer runs."""
        wrong = {one.exercise for one in (*self._wrong, *self._others) if not one.right}
        right = [one for one in self._others if one.exercise not in wrong]
        return _lines(self._passed(bench, in_turn(right, 1)))

    def _proven(
        self, edits: Sequence[FileEdit], left: Sequence[int], before: int = 0
    ) -> list[RepairEdit]:
        """Returns the outcomes of the edits in `left` for more calls, tried in another worker.

        `before` counts the edits that passed a few calls and were proven earlier.
        """
        if not left or before + len(left) > max(_FEW, _MOST_SHARE * len(edits)):
            return []
        left = _by_line_in_turn(edits, left)[:_MOST_PROVEN]
        together = _with_others(len(edits), left)
        plain = telling((one for one in self._wrong if one.is_plain), _WRONG_PROVEN)
        # A test of precision may stay wrong for a reason of its own.
        further = max(_PRECISION_PROVEN, _WRONG_PROVEN - len(plain))
        of_precision = telling((one for one in self._wrong if not one.is_plain), further)
        wrong = [*plain, *of_precision]
        must_change = len(plain) or len(wrong)
        chosen = [edits[number] for number in together]
        with self._bench() as bench:
            proof = self._with_control(bench, [*wrong, *self._right_and_others()])
            asked, seconds = [one for one, _ in proof], self._bounds.seconds_of_proof
            outcomes = self._tried(bench, asked, must_change, chosen, seconds)
        return [
            self._repair_edit(edits[number], proof, place, outcomes)
            for place, number in enumerate(together)
            if number in left
        ]

    def _with_control(self, bench: Workbench, asked: Sequence[CheckedCall]) -> Sequence[_Checked]:
        """Returns calls with the unedited program's answers, without right ones that get none.

        A right call gets none if it is too slow for a trial or its answer is too large. Trials
        cannot show whether an edit breaks that call.
        """
        if not asked:
            return ()
        calls = [one.question.call for one in asked]
        control = bench.try_edits(Trials(calls, 0, ({},), self._bounds.seconds_of_proof))
        found = [(one, control.of(0, place)) for place, one in enumerate(asked)]
        return [(one, answer) for one, answer in found if answer is not None or not one.right]

    def _tried(
        self,
        bench: Workbench,
        calls: Sequence[CheckedCall],
        must_change: int,
        edits: Sequence[FileEdit],
        seconds: float,
    ) -> Outcomes:
        asked = [one.question.call for one in calls]
        changes = [one.changes for one in edits]
        outcomes = bench.try_edits(Trials(asked, must_change, changes, seconds))
        self.tried += outcomes.tried
        return outcomes

    def _left(self, calls: Sequence[CheckedCall], count: int, outcomes: Outcomes) -> Iterator[int]:
        """Yields the numbers of the edits with which every call gets a right answer."""
        known: dict[tuple[int, int], bool] = {}
        for number in range(count):
            for place, one in enumerate(calls):
                given = outcomes.given.get((number, place))
                if given is None:
                    break
                if (place, given) not in known:
                    answer = outcomes.answers[given]
                    known[place, given] = is_answer(self._catalogue, one.question, answer)
                if not known[place, given]:
                    break
            else:
                yield number

    def _right_and_others(self) -> Iterator[CheckedCall]:
        """Yields calls of the proof: the exercise's right ones, then those of other exercises."""
        yield from telling(self._right, _RIGHT_PROVEN)
        wrong = [one for one in self._others if not one.right]
        right = [one for one in self._others if one.right]
        yield from itertools.islice(in_turn(wrong, _WRONG_OF_OTHERS), _MOST_WRONG_OF_OTHERS)
        yield from itertools.islice(in_turn(right, _RIGHT_OF_OTHERS), _MOST_RIGHT_OF_OTHERS)

    def _repair_edit(
        self, made: FileEdit, proof: Sequence[_Checked], place: int, outcomes: Outcomes
    ) -> RepairEdit:
        """Returns an edit with the exercises that it makes right, and those that it breaks."""
        wrong: dict[str, list[bool]] = {}
        plainly: dict[str, list[bool]] = {}
        breaks: set[str] = set()
        for call, (one, control) in enumerate(proof):
            answer = outcomes.of(place, call)
            is_right = one.provable and is_answer(self._catalogue, one.question, answer)
            if not one.right and is_answer(self._catalogue, one.question, control):
                is_right = False  # right without any edit: this call proves nothing
            if not one.right:
                wrong.setdefault(one.exercise, []).append(is_right)
                if one.is_plain:
                    plainly.setdefault(one.exercise, []).append(is_right)
            elif not is_right:
                breaks.add(one.exercise)
        every = wrong[self._exercise]
        own = plainly.get(self._exercise) or every
        fixed = {name for name, rights in {**wrong, **plainly}.items() if all(rights)} - breaks
        share, with_precision = (sum(rights) / len(rights) for rights in (own, every))
        return RepairEdit(made, share, frozenset(fixed), frozenset(breaks), with_precision)


def _lines(passed: Iterable[Passed]) -> Lines:
    return frozenset((one.file, line) for one in passed for line in one.lines)


def _observed(passed: Iterable[Passed]) -> dict[str, Observed]:
    """Returns, by file, the natures of the values that variables were seen to hold."""
    found: dict[str, dict[int, dict[str, Nature]]] = {}
    for one in passed:
        own = found.setdefault(one.file, {})
        for seen in one.seen:
            own.setdefault(seen.function, {}).setdefault(seen.name, _NATURES[KINDS[seen.kind]])
    return {**found}


def _by_line_in_turn(edits: Sequence[FileEdit], left: Sequence[int]) -> list[int]:
    """Returns the numbers in `left`: the cheapest of each line first, then the second of each.

    Many edits of one line may pass by luck: they must not keep other lines out of the proof.
    """
    met: Counter[tuple[str, int]] = Counter()

    def turn(number: int) -> int:
        """Returns how many edits of the line came before."""
        line = edits[number].file, edits[number].edit.line
        met[line] += 1
        return met[line]

    return sorted(left, key=turn)


def _with_others(count: int, left: Sequence[int]) -> list[int]:
    """Returns the edits in `left`, padded with others to hide which passed."""
    others = (number for number in range(count) if number not in left)
    return sorted([*left, *itertools.islice(others, max(0, _PROVEN_TOGETHER - len(left)))])
