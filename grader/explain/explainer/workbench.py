"""The repair workshop of a submission: its sources, and workers that try edits of them."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from grader.core.evidence import Repair
from grader.core.submission import Submission
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call
from grader.core.wire.trials import Outcomes, Trials
from grader.explain.deadline import Deadline
from grader.explain.mistakes.prediction import Catalogue
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.earlier_calls import Dependence, dependence
from grader.explain.repair.exercises import (
    Changes,
    ExerciseRepair,
    Proved,
    RepairAttempt,
    is_made,
    proved,
)
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.search import IN_CLASS, Search, Workbench
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.slips import Slips
from grader.sandbox.session import Session
from grader.sandbox.session import TrialWorker as Opened
from grader.sandbox.worker import WorkerLost

# A lost worker does not say which edit ended it: the edits are tried again in this many parts.
_PARTS = 8


@dataclass(slots=True)
class WorkerLosses:
    """The number of workers that a submission may still lose."""

    left: int


class RestartingBench:
    """A bench that tries edits in a worker, and starts a new worker after a crash.

    New workers start as long as `losses` allow. After a crash, the edits run again in parts; a
    part that crashes its worker again is left out. `seconds` counts the time of all workers.
    The next trial depends on crashes alone, never on answers.
    """

    def __init__(
        self, new: Callable[[], AbstractContextManager[Workbench]], losses: WorkerLosses
    ) -> None:
        self._new = new
        self._losses = losses
        self._opened = ExitStack()
        self._bench: Workbench | None = self._opened.enter_context(new())
        self._before = 0.0

    def close(self) -> None:
        """Ends the worker."""
        self._opened.close()

    @property
    def seconds(self) -> float:
        """Returns the seconds that all trials have taken so far."""
        return self._before + (0.0 if self._bench is None else self._bench.seconds)

    def try_edits(self, trials: Trials) -> Outcomes:
        """Returns the outcomes of trials.

        Raises:
            WorkerLost: if a worker hung, or too many crashed.
        """
        over = self.seconds + trials.seconds
        try:
            return self._try(trials)
        except WorkerLost as lost:
            self._replace(lost)
            if trials.in_one_state:  # their answers are not trials of edits
                raise
        return self._in_parts(trials, over)

    def _in_parts(self, trials: Trials, over: float) -> Outcomes:
        whole = Outcomes(
            passed=self._try(replace(trials, edits=())).passed if trials.follow else ()
        )
        size = -(-len(trials.edits) // _PARTS) or 1
        for start in range(0, len(trials.edits), size):
            left = over - self.seconds
            if left <= 0:
                break
            part = trials.edits[start : start + size]
            try:
                found = self._try(replace(trials, edits=part, seconds=left, follow=0))
            except WorkerLost as lost:
                self._replace(lost)
                continue
            _join(whole, found, start)
        return whole

    def _try(self, trials: Trials) -> Outcomes:
        if self._bench is None:
            raise RuntimeError("no worker was opened for this bench")
        return self._bench.try_edits(trials)

    def _replace(self, lost: WorkerLost) -> None:
        """Opens another worker in the place of one that crashed.

        Raises:
            WorkerLost: if the worker hung, or if no further loss is allowed.
        """
        if lost.status is not Status.CRASHED or self._losses.left == 0:
            raise lost
        self._losses.left -= 1
        self._before, self._bench = self.seconds, None
        self._opened.close()
        self._bench = self._opened.enter_context(self._new())


def _join(whole: Outcomes, part: Outcomes, start: int) -> None:
    """Adds the outcomes of a part whose first edit has the number `start`."""
    whole.tried += part.tried
    for (edit, call), given in part.given.items():
        whole.add(start + edit, call, part.answers[given])


# Per submission. A program that crashes under every edit is given up.
_MOST_LOST = 12

Ask = Callable[[Call], Answer]
# Runs a test with the given ask: True if it passes, None if a call gets no answer.
Passes = Callable[[str, Ask], bool | None]
Result = TypeVar("Result")


class RepairWorkshop:
    """A repair of one submission's wrong exercises, in turn; `repairs` records each attempt.

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
        self._losses = WorkerLosses(_MOST_LOST)
        self.repairs: list[Repair] = []
        self.ignored: dict[str, str] = {}

    @functools.cached_property
    def _sources(self) -> EditableSources:
        return EditableSources.below(self._submission.root, self._slips, self._contract)

    def dependence(
        self, catalogue: Catalogue, asked: Iterable[CheckedCall], made: Sequence[Call]
    ) -> Dependence:
        """Returns which wrong answers depend on the calls `made` before them."""
        with contextlib.suppress(WorkerLost):
            return dependence(catalogue, self._bench, asked, made)
        return Dependence()

    def repaired(
        self,
        catalogue: Catalogue,
        asked: Mapping[str, Sequence[CheckedCall]],
        deadline: Deadline,
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

        Its other tests, those to be `kept`, run too, and still pass.
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

    def rerun(
        self, tests: Iterable[str], look: Callable[[str, Ask], Result | None], each_alone: bool
    ) -> dict[str, Result]:
        """Returns the results of tests that run one after another in a fresh worker.

        With `each_alone`, every test starts in the state right after the import. Tests whose
        `look` returns None have no result.
        """
        found: dict[str, Result] = {}
        with contextlib.suppress(WorkerLost), self._session.bench() as bench:
            for number, test in enumerate(tests):
                if each_alone or number == 0:
                    is_made(bench.try_edits, {})
                result = look(test, bench.ask)
                if result is not None:
                    found[test] = result
        return found

    def _noted(self, attempt: RepairAttempt) -> Repair:
        choice = attempt.choice
        places = () if choice is None else tuple((one.file, one.line) for one in choice.places)
        seconds, self._seconds = round(self._seconds, 4), 0.0
        return Repair(tuple(sorted(attempt.fixed)), places, attempt.tried, seconds)

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        bench = RestartingBench(self._session.bench, self._losses)
        try:
            yield bench
        finally:
            bench.close()
            self._seconds += bench.seconds


def _passing(bench: Opened, tests: Collection[str], passes: Passes, changes: Changes) -> set[str]:
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
