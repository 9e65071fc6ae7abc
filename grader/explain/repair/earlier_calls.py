"""Finds wrong answers that are right with no call before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch

from grader.core.wire.calls import Call, encode_call
from grader.core.wire.trials import Trials
from grader.explain.mistakes.prediction import Catalogue, Numbers
from grader.explain.repair.questions import CheckedCall, is_answer
from grader.explain.repair.search import NewBench, Workbench
from grader.testing.handles.scripts import in_two_processes
from grader.testing.outcome import Observation, Question

# Of processor time, as a safety net only.
_SECONDS = 6.0
# Calls in one frame.
_MOST_TOGETHER = 64
# Repetitions of a control run: chance seldom gives the same result so often.
AGAIN = 7
# Of many earlier calls, the first and the last leave the state that most calls meet.
_MOST_EARLIER = 120
_MOST_NUMBERS = 1 << 20
SAID = "This depends on earlier calls: the same call is right if it comes first."
HANDED_ON = (
    "It is right in the process that saved the file: "
    "that process keeps something that is not in the file."
)

Reply = TypeVar("Reply")
# A test, and the number of a call in it.
Asking = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Dependence:
    """The calls that a submission answers rightly if no call comes before them.

    Calls in `tests` were seen to get wrong answers after other calls, and each wrong call of such a
    test is right if it comes first. Tests in `handed_on` continue in a new process, and pass if
    they stay in one. `alone` holds the answers to wrong calls that came first.
    """

    right_first: frozenset[Asking] = frozenset()
    tests: frozenset[str] = frozenset()
    handed_on: frozenset[str] = frozenset()
    alone: Mapping[Asking, torch.Tensor] = field(default_factory=dict)

    def also(self, tests: Iterable[str]) -> Dependence:
        """Returns this dependence with further tests that pass only with no call before them."""
        return replace(self, tests=self.tests.union(tests))

    @property
    def concerned(self) -> frozenset[str]:
        """Returns the tests with a call that is right first, whether or not it was seen to fail.

        Tests that continue in a new process are left out.
        """
        return self.tests.union(test for test, _ in self.right_first) - self.handed_on

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
        if test in self.handed_on:
            return HANDED_ON
        return SAID if test in self.tests else ""


def noting(ask: Callable[[Call], Reply], made: list[Call]) -> Callable[[Call], Reply]:
    """Returns an `ask` that appends each call to `made`."""

    def asked(call: Call) -> Reply:
        made.append(call)
        return ask(call)

    return asked


def dependence(
    catalogue: Catalogue,
    bench: NewBench,
    asked: Iterable[CheckedCall],
    made: Sequence[Call],
) -> Dependence:
    """Returns which of the wrong calls in `asked` depend on the calls `made` before them.

    The control comes first: each wrong call runs in the state right after the import. If no
    answer is right there, nothing else runs.
    """
    wrong = [one for one in asked if not one.right and one.provable]
    if not wrong:
        return Dependence()
    with bench() as workbench:
        alone = _alone(workbench, wrong)
        right = _right(catalogue, wrong, alone)
        first = frozenset(map(_asking, right))
        for _ in range(AGAIN if right else 0):
            if len(_right(catalogue, right, _alone(workbench, right))) < len(right):
                return Dependence(first, alone=alone)
        calls = {one.question.test: one.question.call for one in right}
        handed_on = frozenset(test for test, call in calls.items() if in_two_processes(call))
        always = {test for test, number in map(_asking, wrong) if (test, number) not in first}
        here = [one for one in right if one.question.test not in handed_on | always]
        tests = _wrong_after_others(catalogue, workbench, here, made)
        return Dependence(first, tests, handed_on, alone)


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


def _wrong_after_others(
    catalogue: Catalogue, bench: Workbench, right: Sequence[CheckedCall], made: Sequence[Call]
) -> frozenset[str]:
    """Returns the tests with a call that is right alone and wrong among others."""
    found: set[str] = set()
    for start in range(0, len(right), _MOST_TOGETHER):
        calls, places = _sequence(right[start : start + _MOST_TOGETHER], made)
        if places:
            outcomes = bench.try_edits(Trials(calls, 0, ({},), _SECONDS, in_one_state=True))
            found.update(
                one.question.test
                for place, one in places.items()
                if not is_answer(catalogue, one.question, outcomes.of(0, place))
            )
    return frozenset(found)


def _sequence(
    asked: Sequence[CheckedCall], made: Sequence[Call]
) -> tuple[Sequence[Call], Mapping[int, CheckedCall]]:
    """Returns the calls in the order in which they were made, and the places of those in `asked`.

    If there are many calls, only the first and the last ones are kept, with those in `asked`. The
    calls in `asked` come again at the end.
    """
    known = {_form(one.question.call): one for one in asked}
    half, left = _MOST_EARLIER // 2, _MOST_NUMBERS
    calls: list[Call] = []
    places: dict[int, CheckedCall] = {}
    for number, call in enumerate(made):
        one = known.get(_form(call))
        size = _size(call.arguments)
        is_left_out = half <= number < len(made) - half or size > left
        if one is not None:
            places[len(calls)] = one
        elif is_left_out:
            continue
        left -= size
        calls.append(call)
    for one in asked if calls else ():
        places[len(calls)] = one
        calls.append(one.question.call)
    return calls, places


def _form(call: Call) -> bytes:
    """Returns the encoding of a call without its frame; equal calls have equal encodings."""
    return encode_call(replace(call, frame=None))


def _size(value: object) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 1
