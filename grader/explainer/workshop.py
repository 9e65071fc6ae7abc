"""Where a submission is mended: its sources, and workers in which edits of them are tried."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from grader.evidence import Mending
from grader.explainer.sturdy_bench import Losses, SturdyBench
from grader.explaining.deadline import Deadline
from grader.explaining.mending.choosing import Mended
from grader.explaining.mending.exercises import Attempt, Mender
from grader.explaining.mending.mending import FileEdit, Search, Workbench
from grader.explaining.mending.questions import Asked
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.sandbox.sitting import Sitting
from grader.sandbox.worker import WorkerLost
from grader.submission import Submission

# Of one submission's workers. Who ends its own under every edit is not edited any further.
_MOST_LOST = 12


class Workshop:
    """Mends one submission's wrong exercises, one after another; `mendings` tell of it."""

    def __init__(self, sitting: Sitting, submission: Submission) -> None:
        self._sitting = sitting
        self._submission = submission
        self._seconds = 0.0
        self._losses = Losses(_MOST_LOST)
        self.mendings: list[Mending] = []

    def mended(
        self, catalogue: Catalogue, asked: Mapping[str, Sequence[Asked]], deadline: Deadline
    ) -> dict[str, Mended]:
        """By exercise, where it can be mended.

        `asked` are the calls whose right answer is known, by exercise: what mends one is proven on
        those that build on it as well.
        """
        sources = Sources.below(self._submission.root)
        every = [one for own in asked.values() for one in own]

        def search(exercise: str, besides: FileEdit | None, answers_only: bool) -> Search:
            return Search(catalogue, self._bench, exercise, every, besides, answers_only)

        found: dict[str, Mended] = {}
        attempts = Mender(sources, self._submission.adapters, search).attempts(asked)
        with contextlib.suppress(WorkerLost):
            while not deadline.passed and (attempt := next(attempts, None)) is not None:
                if attempt.choice is not None:
                    found |= dict.fromkeys(attempt.mended, attempt.choice)
                self.mendings.append(self._noted(attempt))
        return found

    def _noted(self, attempt: Attempt) -> Mending:
        choice, cost = attempt.choice, attempt.cost
        places = () if choice is None else tuple((one.file, one.line) for one in choice.places)
        seconds, self._seconds = round(self._seconds, 4), 0.0
        return Mending(tuple(sorted(attempt.mended)), places, cost.edits, cost.calls, seconds)

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        bench = SturdyBench(self._sitting.bench, self._losses)
        try:
            with bench:
                yield bench
        finally:
            self._seconds += bench.seconds
