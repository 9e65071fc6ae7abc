"""The repair workshop of a submission: its sources, and workers that try edits of them."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from grader.core.evidence import Repair
from grader.core.submission import Submission
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call
from grader.explain.deadline import Deadline
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.earlier_calls import Dependence, dependence
from grader.explain.repair.exercises import ExerciseRepair, RepairAttempt
from grader.explain.repair.proof import Changes, Proved, is_made, proved
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.search import IN_CLASS, Search, Workbench
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.slips import Slips
from grader.sandbox.session import Session, TrialWorker
from grader.sandbox.worker import WorkerLost

Ask = Callable[[Call], Answer]
# Runs a test with the given ask: True if it passes, None if a call gets no answer.
Passes = Callable[[str, Ask], bool | None]
Result = TypeVar("Result")


class RepairWorkshop:
    """A workshop that repairs a submission's exercises in turn; `repairs` records each attempt.

    For exercises without a repair, `ignored` names a parameter or result that is never used.
    `contract` is the file of the adapters that students got.
    """

    def __init__(
        self, session: Session, submission: Submission, slips: Slips, contract: Path | None = None
    ) -> None:
        self._session = session
        self._submission = submission
        self._slips = slips
        self._contract = contract
        self._seconds = 0.0
        self.repairs: list[Repair] = []
        self.ignored: dict[str, str] = {}

    @functools.cached_property
    def _sources(self) -> EditableSources:
        return EditableSources.below(self._submission.root, self._slips, self._contract)

    def dependence(self, catalogue: Catalogue, asked: Iterable[CheckedCall]) -> Dependence:
        """Returns which wrong calls are right with no call before them."""
        with contextlib.suppress(WorkerLost):
            return dependence(catalogue, self._bench, asked)
        return Dependence()

    def repaired(
        self, catalogue: Catalogue, asked: Mapping[str, Sequence[CheckedCall]], deadline: Deadline
    ) -> dict[str, RepairedExercise]:
        """Returns the repair of each exercise that has one.

        `asked` holds, by exercise, the calls whose right answer is known. An edit that fixes one
        exercise is also proven on the exercises that build on it. Each wrong exercise may take its
        part of the time that the ones before it left.
        """
        every = [one for own in asked.values() for one in own]
        waiting = [name for name, own in asked.items() if not all(one.right for one in own)]
        parts: dict[str, Deadline] = {}

        def search(exercise: str, answers_only: bool) -> Search | None:
            if exercise not in parts:
                parts[exercise] = deadline.part(len(waiting) - waiting.index(exercise))
            if parts[exercise].passed:
                return None
            bounds = replace(IN_CLASS, seconds=min(IN_CLASS.seconds, parts[exercise].left))
            return Search(catalogue, self._bench, exercise, every, answers_only, bounds)

        repair = ExerciseRepair(self._sources, self._submission.adapters, search)
        self.ignored, attempts = repair.ignored, repair.attempts(asked)
        with contextlib.suppress(WorkerLost):
            while not deadline.passed and (attempt := next(attempts, None)) is not None:
                self.repairs.append(self._noted(attempt))
        return {name: one for name, one in repair.chosen.items() if one is not None}

    def proved(
        self,
        repaired: Mapping[str, RepairedExercise],
        failed: Mapping[str, Collection[str]],
        kept: Mapping[str, Collection[str]],
        passes: Passes,
        deadline: Deadline,
    ) -> dict[str, Proved]:
        """Returns, by exercise, the proof of its repair, after its `failed` tests ran with it.

        A repair that breaks one of the exercise's tests in `kept`, which passed, has no proof.
        """
        found: dict[str, Proved] = {}
        left = iter(repaired.items() if not deadline.passed else ())
        for exercise, choice in left:
            with contextlib.suppress(WorkerLost), self._session.bench() as bench:
                for name, one in itertools.chain([(exercise, choice)], left):
                    tests, right = failed.get(name, ()), kept[name]
                    passing = functools.partial(_passing, bench, [*right, *sorted(tests)], passes)
                    if not deadline.passed and (own := proved(one, tests, right, passing)):
                        found[name] = own
        return found

    def rerun_alone(
        self, tests: Iterable[str], look: Callable[[str, Ask], Result | None]
    ) -> dict[str, Result]:
        """Returns the results of tests that each start in the state right after the import.

        Tests whose `look` returns None have no result.
        """
        found: dict[str, Result] = {}
        with contextlib.suppress(WorkerLost), self._session.bench() as bench:
            for test in tests:
                is_made(bench.try_edits, {})
                result = look(test, bench.ask)
                if result is not None:
                    found[test] = result
        return found

    def _noted(self, attempt: RepairAttempt) -> Repair:
        told = () if attempt.choice is None else attempt.choice.places
        lines = ((one.file, line) for one in told for line in (one.line, *one.also))
        seconds, self._seconds = round(self._seconds, 4), 0.0
        return Repair(tuple(sorted(attempt.fixed)), tuple(lines), attempt.tried, seconds)

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        with self._session.bench() as bench:
            try:
                yield bench
            finally:
                self._seconds += bench.seconds


def _passing(
    bench: TrialWorker, tests: Collection[str], passes: Passes, changes: Changes
) -> set[str]:
    """Returns the tests that pass when the program has the `changes`.

    Raises:
        WorkerLost: if a test got no answer.
    """
    passing: set[str] = set()
    for test in tests if is_made(bench.try_edits, changes) else ():
        has_passed = passes(test, bench.ask)
        if has_passed is None:
            raise WorkerLost(Status.CRASHED, "no answer came with an edit")
        passing |= {test} if has_passed else set()
    return passing
