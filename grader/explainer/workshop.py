"""Where a submission is mended: its sources, and workers in which edits of them are tried."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from grader.evidence import Mending
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

Key = tuple[bytes, frozenset[str]]

# Of the submissions of a class that are explained.
_MOST_KNOWN = 256


class Known:
    """What mended earlier submissions: those that differ in comments only are mended once."""

    def __init__(self) -> None:
        self._choices: OrderedDict[Key, Mapping[str, Mended | None]] = OrderedDict()

    def recall(self, key: Key, sources: Sources) -> Mapping[str, Mended | None]:
        """By exercise, what was chosen for the same code, at the lines where it stands here."""
        choices = self._choices.get(key, {})
        return {
            name: None
            if choice is None
            else choice.moved(lambda file, place: sources.code(file).line_at(place))
            for name, choice in choices.items()
        }

    def learn(self, key: Key, sources: Sources, choices: Mapping[str, Mended | None]) -> None:
        """Remembers choices; of many the latest."""
        self._choices[key] = {
            name: None
            if choice is None
            else choice.moved(lambda file, line: sources.code(file).place_of(line))
            for name, choice in choices.items()
        }
        while len(self._choices) > _MOST_KNOWN:
            self._choices.popitem(last=False)


class Workshop:
    """Mends one submission's wrong exercises, one after another; `mendings` tell of it."""

    def __init__(self, sitting: Sitting, submission: Submission, known: Known) -> None:
        self._sitting = sitting
        self._submission = submission
        self._known = known
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
        wrong = {one.question.test for one in every if not one.right}
        key = (sources.likeness, frozenset(wrong))
        known = self._known.recall(key, sources)

        def search(exercise: str, besides: FileEdit | None) -> Search:
            return Search(catalogue, self._bench, exercise, every, besides)

        chosen_for: dict[str, Mended | None] = {}
        found: dict[str, Mended] = {}
        attempts = Mender(sources, self._submission.adapters, search, known).attempts(asked)
        # Who ends its worker under edits is not edited any further.
        with contextlib.suppress(WorkerLost):
            while not deadline.passed and (attempt := next(attempts, None)) is not None:
                chosen_for[attempt.exercise] = attempt.choice
                if attempt.choice is not None:
                    found |= dict.fromkeys(attempt.mended, attempt.choice)
                self.mendings.append(self._noted(attempt))
        if not deadline.passed:
            self._known.learn(key, sources, chosen_for)
        return found

    def _noted(self, attempt: Attempt) -> Mending:
        choice, cost = attempt.choice, attempt.cost
        places = () if choice is None else tuple((one.file, one.line) for one in choice.places)
        seconds, self._seconds = round(self._seconds, 4), 0.0
        return Mending(tuple(sorted(attempt.mended)), places, cost.edits, cost.calls, seconds)

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        with self._sitting.bench() as bench:
            try:
                yield bench
            finally:
                self._seconds += bench.seconds
