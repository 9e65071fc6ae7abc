"""Finds wrong answers that are right with no call before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.core.wire.trials import Trials
from grader.explain.mistakes.prediction import Catalogue
from grader.explain.repair.questions import CheckedCall, is_answer
from grader.explain.repair.search import NewBench, Workbench
from grader.testing.outcome import Observation, Question

# Of processor time, as a safety net only.
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

    In the `tests`, every wrong call is one of them; or the test passes if it comes first.
    """

    right_first: frozenset[Asking] = frozenset()
    tests: frozenset[str] = frozenset()

    @property
    def concerned(self) -> frozenset[str]:
        """Returns the tests with a call that is right first, whether or not the test passes."""
        return self.tests.union(test for test, _ in self.right_first)

    def holds(self, one: Observation | Question) -> bool:
        """Returns whether a call gets a right answer if no call comes before it."""
        return (one.test, one.number) in self.right_first

    def in_words(self, test: str) -> str:
        """Returns the words for a test, or "" if nothing is known."""
        return SAID if test in self.tests else ""


def dependence(catalogue: Catalogue, bench: NewBench, asked: Iterable[CheckedCall]) -> Dependence:
    """Returns which wrong calls are right, each time, in the state after the import.

    A test depends on earlier calls if all its wrong calls do.
    """
    wrong = [one for one in asked if not one.right and one.provable]
    right: Sequence[CheckedCall] = wrong
    if wrong:
        with bench() as workbench:
            for _ in range(_CONTROLS):
                right = _right_alone(catalogue, workbench, right)
    first = frozenset(map(_asking, right))
    always = {one.question.test for one in wrong if _asking(one) not in first}
    return Dependence(first, frozenset(test for test, _ in first if test not in always))


def _asking(one: CheckedCall) -> Asking:
    return one.question.test, one.question.number


def _right_alone(
    catalogue: Catalogue, bench: Workbench, asked: Sequence[CheckedCall]
) -> list[CheckedCall]:
    """Returns the calls that the unedited program answers rightly right after its import."""
    right: list[CheckedCall] = []
    for start in range(0, len(asked), _MOST_TOGETHER):
        part = asked[start : start + _MOST_TOGETHER]
        calls = [one.question.call for one in part]
        outcomes = bench.try_edits(Trials(calls, 0, ({},), _SECONDS))
        right += [
            one
            for place, one in enumerate(part)
            if is_answer(catalogue, one.question, outcomes.of(0, place))
        ]
    return right
