"""Mending: which edits make an exercise's wrong answers right, and leave right ones right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.edits.edit import Edit
from grader.edits.generating import edits_of
from grader.explaining.mending.questions import Asked, in_turn, is_answer, telling
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.wire.calls import Passed
from grader.wire.trials import MAX_CALLS, MAX_EDITS, Change, Outcomes, Trials

Try = Callable[[Sequence[Trials]], Sequence[Outcomes]]

# Seconds in which a worker begins trials, of one exercise.
_SECONDS = 4.0
_SECONDS_OF_PROOF = 2.0
_MOST_EDITS = 4000
_WRONG_TRIED = 2
_RIGHT_TRIED = 1
_WRONG_PROVEN = 24
_RIGHT_PROVEN = 8
_OF_OTHERS = 2
# So many go on to the proof, whoever they are: a worker cannot tell which of them were right.
_PROVEN_TOGETHER = 12


@dataclass(frozen=True, slots=True)
class FileEdit:
    """An edit, and the file that it is of."""

    file: str
    edit: Edit

    @property
    def changes(self) -> Mapping[str, Sequence[Change]]:
        """What it changes, as it is told to a worker."""
        own = [Change(one.start, one.end, one.text) for one in self.edit.replacements]
        return {self.file: own}


@dataclass(frozen=True, slots=True)
class Mend:
    """An edit that makes wrong answers right: of its own exercise, and of others.

    `tests` are those whose wrong answers are right with it, `breaks` the exercises that it makes
    wrong, `share` how much of the exercise's wrong answers it makes right.
    """

    made: FileEdit
    tests: frozenset[str]
    breaks: frozenset[str]
    share: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What mending took: edits tried, calls made."""

    edits: int = 0
    calls: int = 0


def schedule(sources: Sources, passed: Sequence[Passed]) -> list[FileEdit]:
    """The edits to be tried, in their order, which follows from the sources alone."""
    found = [
        FileEdit(file, edit)
        for file, lines in sources.concerned(passed).items()
        for edit in edits_of(sources.text(file), lines)
    ]
    found.sort(key=lambda one: (one.edit.cost, one.file, one.edit.line))
    return found[:_MOST_EDITS]


class Search:
    """The search for edits that mend one exercise of a submission; `cost` is what it took so far.

    `asked` are the calls of all exercises whose right answer is known.
    """

    def __init__(
        self, catalogue: Catalogue, attempt: Try, exercise: str, asked: Sequence[Asked]
    ) -> None:
        self._catalogue = catalogue
        self._attempt = attempt
        self._exercise = exercise
        self._asked = asked
        own = [one for one in asked if one.exercise == exercise]
        self._wrong = [one for one in own if not one.right]
        self._right = [one for one in own if one.right]
        self.cost = Cost()

    def mends(self, edits: Sequence[FileEdit]) -> list[Mend]:
        """The edits that make the exercise's wrong answers right, the fullest first.

        All are tried on a few calls first, and the worker that tries them is told which before the
        first; those that are left are proven in another one.
        """
        few = telling(self._wrong, _WRONG_TRIED)
        calls = [*few, *telling(self._right, _RIGHT_TRIED)]
        trials = [
            Trials(
                [one.question.call for one in calls],
                len(few),
                [one.changes for one in edits[start : start + MAX_EDITS]],
                _SECONDS * min(MAX_EDITS, len(edits) - start) / len(edits),
            )
            for start in range(0, len(edits), MAX_EDITS)
        ]
        outcomes = self._outcomes(trials) if trials else ()
        left = list(_left(self._catalogue, edits, calls, outcomes))
        if not left:
            return []
        together = _with_others(edits, left)
        proven = self.proven([edits[number] for number in together])
        return [one for one, number in zip(proven, together, strict=False) if number in left]

    def proven(self, edits: Sequence[FileEdit]) -> list[Mend]:
        """What each of a few edits mends and breaks, in their order, as far as that was seen."""
        proof = list(self._proof())[:MAX_CALLS]
        trials = Trials(
            [one.question.call for one in proof],
            0,
            [one.changes for one in edits],
            _SECONDS_OF_PROOF,
        )
        return [
            _mend(self._catalogue, edit, self._exercise, proof, place, outcome)
            for outcome in self._outcomes([trials])
            for place, edit in enumerate(edits[: outcome.tried])
        ]

    def _outcomes(self, trials: Sequence[Trials]) -> Sequence[Outcomes]:
        outcomes = self._attempt(trials)
        edits = self.cost.edits + sum(one.tried for one in outcomes)
        self.cost = Cost(edits, self.cost.calls + sum(one.calls for one in outcomes))
        return outcomes

    def _proof(self) -> Iterator[Asked]:
        yield from telling(self._wrong, _WRONG_PROVEN)
        yield from telling(self._right, _RIGHT_PROVEN)
        others = [one for one in self._asked if one.exercise != self._exercise]
        yield from in_turn([one for one in others if one.right], 1)
        yield from in_turn([one for one in others if not one.right], _OF_OTHERS)


def _left(
    catalogue: Catalogue,
    edits: Sequence[FileEdit],
    calls: Sequence[Asked],
    outcomes: Sequence[Outcomes],
) -> Iterator[int]:
    """The edits with which every call is answered rightly, by their numbers."""
    for chunk, outcome in enumerate(outcomes):
        known: dict[tuple[int, int], bool] = {}
        start = chunk * MAX_EDITS
        for number in range(min(MAX_EDITS, len(edits) - start)):
            for place, one in enumerate(calls):
                given = outcome.given.get((number, place))
                if given is None:
                    break
                if (place, given) not in known:
                    answer = outcome.answers[given]
                    known[place, given] = is_answer(catalogue, one.question, answer)
                if not known[place, given]:
                    break
            else:
                yield start + number


def _with_others(edits: Sequence[FileEdit], left: Sequence[int]) -> list[int]:
    """The cheapest that are left, and of the others as many as it takes to tell nobody which."""
    chosen = set(left[:_PROVEN_TOGETHER])
    for number in range(len(edits)):
        if len(chosen) >= _PROVEN_TOGETHER:
            break
        chosen.add(number)
    return sorted(chosen)


def _mend(
    catalogue: Catalogue,
    made: FileEdit,
    exercise: str,
    proof: Sequence[Asked],
    place: int,
    outcome: Outcomes,
) -> Mend:
    mended: set[str] = set()
    breaks: set[str] = set()
    wrong = right = 0
    for call, one in enumerate(proof):
        is_right = is_answer(catalogue, one.question, outcome.of(place, call))
        if one.right and not is_right:
            breaks.add(one.exercise)
        elif not one.right and is_right:
            mended.add(one.question.test)
        if one.exercise == exercise and not one.right:
            wrong, right = wrong + 1, right + is_right
    return Mend(made, frozenset(mended), frozenset(breaks), right / wrong if wrong else 0.0)
