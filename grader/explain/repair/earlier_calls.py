"""Finds wrong answers that are right with no call before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from grader.core.wire.trials import Trials
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.mistakes.prediction import Numbers
from grader.explain.repair.questions import CheckedCall, is_answer
from grader.explain.repair.search import NewBench, Workbench
from grader.testing.handles.scripts import in_two_processes
from grader.testing.outcome import Observation, Question

# Seconds of processor time, as a safety net only.
_SECONDS = 6.0
# Calls in one frame.
_MOST_TOGETHER = 64
# Runs of a control: chance seldom gives the same result so often.
_CONTROLS = 8
SAID = "This depends on earlier calls: the same call is right if it comes first."

# A test, and the number of a call in it.
Asking = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Dependence:
    """The wrong calls that are right if no call comes before them.

    In the `tests`, every wrong call is one of them; or the test passes if it comes first. `alone`
    holds the answers to wrong calls that came first.
    """

    right_first: frozenset[Asking] = frozenset()
    tests: frozenset[str] = frozenset()
    alone: Mapping[Asking, torch.Tensor] = field(default_factory=dict)

    @property
    def concerned(self) -> frozenset[str]:
        """Returns the tests with a call that is right first, whether or not the test passes."""
        return self.tests.union(test for test, _ in self.right_first)

    def holds(self, one: Observation | Question) -> bool:
        """Returns whether a call gets a right answer if no call comes before it."""
        return (one.test, one.number) in self.right_first

    def contradicts(
        self, catalogue: Catalogue, mistake: str, answers: Iterable[Observation]
    ) -> bool:
        """Returns whether earlier calls change an answer that a mistake explains otherwise.

        The mistake says that the program ignores an argument, so equal answers came of that.
        """
        return any(
            mistake in catalogue.ignored(one) and not Numbers(own).agrees(one, 1)
            for one in answers
            if (own := self.alone.get((one.test, one.number))) is not None
        )

    def in_words(self, test: str) -> str:
        """Returns the words for a test, or "" if nothing is known."""
        return SAID if test in self.tests else ""


def dependence(catalogue: Catalogue, bench: NewBench, asked: Iterable[CheckedCall]) -> Dependence:
    """Returns which wrong calls are right, each time, in the state after the import.

    A test depends on earlier calls if all its wrong calls do. A call that goes on in a new process
    meets no state there.
    """
    wrong = [one for one in asked if not (one.right or stays_apart(one)) and one.provable]
    if not wrong:
        return Dependence()
    with bench() as workbench:
        alone = _alone(workbench, wrong)
        right = _right(catalogue, wrong, alone)
        for _ in range(_CONTROLS - 1):
            right = _right(catalogue, right, _alone(workbench, right))
    first = frozenset(map(_asking, right))
    always = {one.question.test for one in wrong if _asking(one) not in first}
    return Dependence(first, frozenset(test for test, _ in first if test not in always), alone)


def stays_apart(one: CheckedCall) -> bool:
    """Returns whether a call goes on in a new process, which has no state of earlier calls."""
    return in_two_processes(one.question.call) is not None


def _asking(one: CheckedCall) -> Asking:
    return one.question.test, one.question.number


def _alone(bench: Workbench, asked: Sequence[CheckedCall]) -> Mapping[Asking, torch.Tensor]:
    """Returns the answers that the unedited program gives to calls right after its import."""
    answers: dict[Asking, torch.Tensor] = {}
    for start in range(0, len(asked), _MOST_TOGETHER):
        part = asked[start : start + _MOST_TOGETHER]
        calls = [one.question.call for one in part]
        outcomes = bench.try_edits(Trials(calls, 0, ({},), _SECONDS))
        for place, one in enumerate(part):
            if (answer := outcomes.of(0, place)) is not None:
                answers[_asking(one)] = answer
    return answers


def _right(
    catalogue: Catalogue, asked: Sequence[CheckedCall], answers: Mapping[Asking, torch.Tensor]
) -> Sequence[CheckedCall]:
    return [one for one in asked if is_answer(catalogue, one.question, answers.get(_asking(one)))]
