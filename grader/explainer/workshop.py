"""Where a submission is mended: its sources, and workers in which edits of them are tried."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from grader.evidence import Mending
from grader.explaining.deadline import Deadline
from grader.explaining.mending.choosing import Mended, chosen
from grader.explaining.mending.mending import Search, Workbench
from grader.explaining.mending.questions import Asked
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.sandbox.sitting import Sitting
from grader.sandbox.worker import WorkerLost
from grader.submission import Submission


class Workshop:
    """Mends one submission's wrong exercises, one after another; `mendings` tell of it."""

    def __init__(self, sitting: Sitting, submission: Submission) -> None:
        self._sitting = sitting
        self._submission = submission
        self._seconds = 0.0
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
        found: dict[str, Mended] = {}
        for exercise, own in asked.items():
            if deadline.passed or exercise in found or all(one.right for one in own):
                continue
            self._seconds = 0.0
            search = Search(catalogue, self._bench, exercise, every)
            choice = None
            with contextlib.suppress(WorkerLost):
                choice = chosen(search.mends(sources), sources, self._submission.adapters)
            mended: frozenset[str] = frozenset()
            if choice is not None:
                mended = (choice.exercises | {exercise}) - found.keys()
                found |= dict.fromkeys(mended, choice)
            places = () if choice is None else [(one.file, one.line) for one in choice.places]
            edits, calls, seconds = search.cost.edits, search.cost.calls, round(self._seconds, 4)
            noted = Mending(tuple(sorted(mended)), tuple(places), edits, calls, seconds)
            self.mendings.append(noted)
        return found

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        with self._sitting.bench() as bench:
            try:
                yield bench
            finally:
                self._seconds += bench.seconds
