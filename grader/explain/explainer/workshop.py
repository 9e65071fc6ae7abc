"""Where a submission is mended: its sources, and workers in which edits of them are tried."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from grader.core.evidence import Repair
from grader.core.replies import Reply
from grader.core.submission import Submission
from grader.core.verdict import Status
from grader.core.wire.calls import Call
from grader.explain.deadline import Deadline
from grader.explain.explainer.sturdy_bench import RestartingBench, WorkerLosses
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.earlier_calls import Dependence, dependence
from grader.explain.repair.exercises import ExerciseRepair, RepairAttempt
from grader.explain.repair.passing import Changes, Proved, is_made, proved
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.search import FileEdit, Search, Workbench
from grader.explain.repair.sources import EditableSources
from grader.sandbox.session import Session
from grader.sandbox.session import TrialWorker as Opened
from grader.sandbox.worker import WorkerLost

# Of one submission's workers. Who ends its own under every edit is not edited any further.
_MOST_LOST = 12

Ask = Callable[[Call], Reply]
# Runs a test with a way to ask: whether it passes, None if no answer came.
Passes = Callable[[str, Ask], bool | None]
Result = TypeVar("Result")


class RepairWorkshop:
    """Mends one submission's wrong exercises, one after another; `mendings` tell of it."""

    def __init__(self, sitting: Session, submission: Submission) -> None:
        self._sitting = sitting
        self._submission = submission
        self._seconds = 0.0
        self._losses = WorkerLosses(_MOST_LOST)
        self.mendings: list[Repair] = []

    @functools.cached_property
    def _sources(self) -> EditableSources:
        return EditableSources.below(self._submission.root)

    def dependence(
        self, catalogue: Catalogue, asked: Iterable[CheckedCall], made: Sequence[Call]
    ) -> Dependence:
        """Which wrong answers depend on the calls that were `made` before."""
        with contextlib.suppress(WorkerLost):
            return dependence(catalogue, self._bench, self._sources, asked, made)
        return Dependence()

    def mended(
        self, catalogue: Catalogue, asked: Mapping[str, Sequence[CheckedCall]], deadline: Deadline
    ) -> dict[str, RepairedExercise]:
        """By exercise, where it can be mended.

        `asked` are the calls whose right answer is known, by exercise: what mends one is proven on
        those that build on it as well.
        """
        every = [one for own in asked.values() for one in own]

        def search(exercise: str, besides: FileEdit | None, answers_only: bool) -> Search:
            return Search(catalogue, self._bench, exercise, every, besides, answers_only)

        found: dict[str, RepairedExercise] = {}
        attempts = ExerciseRepair(self._sources, self._submission.adapters, search).attempts(asked)
        with contextlib.suppress(WorkerLost):
            while not deadline.passed and (attempt := next(attempts, None)) is not None:
                if attempt.choice is not None:
                    found |= dict.fromkeys(attempt.mended, attempt.choice)
                self.mendings.append(self._noted(attempt))
        return found

    def proved(
        self,
        mended: Mapping[str, RepairedExercise],
        failed: Mapping[str, Collection[str]],
        passes: Passes,
        deadline: Deadline,
    ) -> dict[str, Proved]:
        """By exercise where it can be mended, once its `failed` tests were run with the edit."""
        found: dict[str, Proved] = {}
        left = iter(mended.items() if not deadline.passed else ())
        for exercise, choice in left:
            with contextlib.suppress(WorkerLost), self._sitting.bench() as bench:
                for name, one in itertools.chain([(exercise, choice)], left):
                    tests = failed.get(name, ())
                    passing = functools.partial(_passing, bench, tests, passes)
                    if not deadline.passed and (own := proved(one, tests, passing)) is not None:
                        found[name] = own
        return found

    def alone(
        self, tests: Iterable[str], look: Callable[[str, Ask], Result | None]
    ) -> dict[str, Result]:
        """What comes of tests, each where nothing was called before; of those with an answer."""
        found: dict[str, Result] = {}
        with contextlib.suppress(WorkerLost), self._sitting.bench() as bench:
            for test in tests:
                is_made(bench.try_edits, {})
                result = look(test, bench.ask)
                if result is not None:
                    found[test] = result
        return found

    def _noted(self, attempt: RepairAttempt) -> Repair:
        choice, cost = attempt.choice, attempt.cost
        places = () if choice is None else tuple((one.file, one.line) for one in choice.places)
        seconds, self._seconds = round(self._seconds, 4), 0.0
        return Repair(tuple(sorted(attempt.mended)), places, cost.edits, cost.calls, seconds)

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        bench = RestartingBench(self._sitting.bench, self._losses)
        try:
            with bench:
                yield bench
        finally:
            self._seconds += bench.seconds


def _passing(bench: Opened, tests: Collection[str], passes: Passes, changes: Changes) -> set[str]:
    """The tests that pass when the program is changed.

    Raises:
        WorkerLost: if one got no answer.
    """
    passing: set[str] = set()
    for test in tests if is_made(bench.try_edits, changes) else ():
        has_passed = passes(test, bench.ask)
        if has_passed is None:
            raise WorkerLost(Status.CRASHED, "no answer came with an edit")
        passing |= {test} if has_passed else set()
    return passing
