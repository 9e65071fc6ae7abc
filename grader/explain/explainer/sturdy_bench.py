"""A workbench that outlives its workers: an edit can make torch itself crash."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from types import TracebackType

from grader.core.verdict import Status
from grader.core.wire.trials import Outcomes, Trials
from grader.explain.repair.search import Workbench
from grader.sandbox.worker import WorkerLost

# Which edit ended a worker is told by nobody: what was lost is tried again in so many parts.
_PARTS = 8


@dataclass(slots=True)
class WorkerLosses:
    """How many more workers a submission may lose."""

    left: int


class RestartingBench:
    """Tries edits in a worker, and in new ones after that crashed, as long as `losses` allow.

    A part of the edits that ends its worker again is left out. `seconds` are those of all workers.
    What is tried next hangs on crashes alone, never on what was answered.
    """

    def __init__(
        self, new: Callable[[], AbstractContextManager[Workbench]], losses: WorkerLosses
    ) -> None:
        self._new = new
        self._losses = losses
        self._opened = ExitStack()
        self._bench: Workbench | None = None
        self._before = 0.0

    def __enter__(self) -> RestartingBench:
        self._bench = self._opened.enter_context(self._new())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.close()

    @property
    def seconds(self) -> float:
        """The seconds that trials took so far."""
        return self._before + (0.0 if self._bench is None else self._bench.seconds)

    def try_edits(self, trials: Trials) -> Outcomes:
        """What comes of trials.

        Raises:
            WorkerLost: if a worker hung, or too many crashed.
        """
        over = self.seconds + trials.seconds
        try:
            return self._try(trials)
        except WorkerLost as lost:
            self._replace(lost)
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
            WorkerLost: if it hung instead, or was one too many.
        """
        if lost.status is not Status.CRASHED or self._losses.left == 0:
            raise lost
        self._losses.left -= 1
        self._before, self._bench = self.seconds, None
        self._opened.close()
        self._bench = self._opened.enter_context(self._new())


def _join(whole: Outcomes, part: Outcomes, start: int) -> None:
    """Adds what came of the edits from number `start` on."""
    whole.tried += part.tried
    whole.calls += part.calls
    for (edit, call), given in part.given.items():
        whole.add(start + edit, call, part.answers[given])
    for call, given in part.control.items():
        whole.add_control(call, part.answers[given])
