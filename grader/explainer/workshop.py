"""Where a submission is mended: its sources, and workers in which edits of them are tried."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from grader.evidence import Mending
from grader.explaining.deadline import Deadline
from grader.explaining.mending.choosing import Mended, chosen
from grader.explaining.mending.mending import Cost, Search, Workbench
from grader.explaining.mending.questions import Asked
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.sandbox.sitting import Sitting
from grader.sandbox.worker import WorkerLost
from grader.submission import Submission

Key = tuple[bytes, frozenset[str]]

# Of the submissions of a class that are explained.
_MOST_KNOWN = 256
# Of mends of other exercises with which one is tried.
_MOST_BESIDES = 2


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
        chosen_for: dict[str, Mended | None] = {}
        found: dict[str, Mended] = {}
        for exercise, own in asked.items():
            if deadline.passed or exercise in found or all(one.right for one in own):
                continue
            self._seconds, cost = 0.0, Cost()
            try:
                if exercise in known:
                    choice = known[exercise]
                else:
                    choice, cost = self._chosen(catalogue, exercise, every, sources, found)
            except WorkerLost:
                # Who ends its worker under edits is not edited any further.
                break
            chosen_for[exercise] = choice
            mended = frozenset[str]()
            if choice is not None:
                mended = (choice.exercises | {exercise}) - found.keys()
                found |= dict.fromkeys(mended, choice)
            self.mendings.append(_noted(mended, choice, cost, self._seconds))
        if not deadline.passed:
            self._known.learn(key, sources, chosen_for)
        return found

    def _chosen(
        self,
        catalogue: Catalogue,
        exercise: str,
        every: Sequence[Asked],
        sources: Sources,
        found: Mapping[str, Mended],
    ) -> tuple[Mended | None, Cost]:
        """What mends an exercise, alone or together with what mended an earlier one."""
        before = [one.made for one in dict.fromkeys(found.values())]
        cost = Cost()
        for besides in (None, *before[:_MOST_BESIDES]):
            search = Search(catalogue, self._bench, exercise, every, besides)
            choice = chosen(search.mends(sources), sources, self._submission.adapters)
            cost = cost.plus(search.cost)
            if choice is not None:
                return replace(choice, besides=besides is not None), cost
        return None, cost

    @contextlib.contextmanager
    def _bench(self) -> Iterator[Workbench]:
        with self._sitting.bench() as bench:
            try:
                yield bench
            finally:
                self._seconds += bench.seconds


def _noted(exercises: frozenset[str], choice: Mended | None, cost: Cost, seconds: float) -> Mending:
    places = () if choice is None else tuple((one.file, one.line) for one in choice.places)
    return Mending(tuple(sorted(exercises)), places, cost.edits, cost.calls, round(seconds, 4))
