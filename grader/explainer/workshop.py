"""Where a submission is mended: its sources, and workers in which edits of them are tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set

from grader.evidence import Mending
from grader.explaining.deadline import Deadline
from grader.explaining.mending.choosing import Line, Mended, chosen
from grader.explaining.mending.mending import Cost, Search, schedule
from grader.explaining.mending.questions import Asked, telling
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.sandbox.replies import opened
from grader.sandbox.sitting import Sitting
from grader.submission import Submission
from grader.testing.outcome import StudentFault
from grader.wire.calls import Passed
from grader.wire.trials import Outcomes, Trials

_FOLLOWED = 3


class Workshop:
    """Mends one submission's wrong exercises, one after another; `mendings` tell of it."""

    def __init__(self, sitting: Sitting, submission: Submission) -> None:
        self._sitting = sitting
        self._submission = submission
        self._seconds = 0.0
        self.mendings: list[Mending] = []

    def mended(
        self,
        catalogue: Catalogue,
        asked: Mapping[str, Sequence[Asked]],
        hints: Mapping[str, Line],
        deadline: Deadline,
    ) -> dict[str, Mended]:
        """By test, where a wrong answer can be mended.

        `asked` are the calls whose right answer is known, by exercise: what mends one is tried on
        those that build on it first. `hints` are the lines that steps point to, by test.
        """
        sources = Sources.below(self._submission.root)
        every = [one for own in asked.values() for one in own]
        found: dict[str, Mended] = {}
        for exercise, own in asked.items():
            wrong = {one.question.test for one in own if not one.right}
            if deadline.passed or wrong <= found.keys():
                continue
            self._seconds = 0.0
            search = Search(catalogue, self._attempt, exercise, every)
            choice = self._known(search, list(dict.fromkeys(found.values())), wrong)
            if choice is None:
                passed = self._passed([one for one in own if not one.right])
                mends = search.mends(schedule(sources, passed))
                pointed = {hints[test] for test in wrong if test in hints}
                choice = chosen(mends, sources, self._submission.adapters, pointed)
            if choice is not None:
                found |= {test: choice for test in choice.tests if test not in found}
            self.mendings.append(_noted(exercise, choice, search.cost, self._seconds))
        return found

    def _known(self, search: Search, known: Sequence[Mended], wrong: Set[str]) -> Mended | None:
        """What mended an earlier exercise, if it mends every wrong test of this one as well."""
        edits = [edit for one in known for edit in one.edits[:1]]
        for one, mend in zip(known, search.proven(edits) if edits else (), strict=False):
            if wrong <= mend.tests:
                return dataclasses.replace(one, tests=mend.tests)
        return None

    def _passed(self, wrong: Sequence[Asked]) -> list[Passed]:
        """The lines that a few of the wrong calls pass."""
        passed: dict[str, set[int]] = {}
        for one in telling(wrong, _FOLLOWED):
            try:
                call = dataclasses.replace(one.question.call, follow=True, frame=None)
                answer = opened(self._sitting.ask(call))
            except StudentFault:
                continue
            for seen in answer.passed:
                passed.setdefault(seen.file, set()).update(seen.lines)
        return [Passed(file, tuple(sorted(lines))) for file, lines in passed.items()]

    def _attempt(self, trials: Sequence[Trials]) -> Sequence[Outcomes]:
        outcomes, seconds = self._sitting.try_edits(trials)
        self._seconds += seconds
        return outcomes


def _noted(exercise: str, choice: Mended | None, cost: Cost, seconds: float) -> Mending:
    tests = () if choice is None else tuple(sorted(choice.tests))
    places = () if choice is None else tuple((one.file, one.line) for one in choice.places)
    return Mending(exercise, tests, places, cost.edits, cost.calls, round(seconds, 4))
